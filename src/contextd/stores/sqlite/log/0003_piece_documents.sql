-- Pieces by the document they are of, to erase those of documents that are gone.

create index piece_by_document on piece (json_extract(about, '$.workspace'), json_extract(about, '$.document'));
