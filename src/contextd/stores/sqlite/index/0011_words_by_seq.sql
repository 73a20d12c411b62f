-- What came after a position is looked up, not scanned: the record keeps the words of everything here.
create index words_by_seq on words (workspace_id, seq);
