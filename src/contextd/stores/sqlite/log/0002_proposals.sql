-- Memories that were proposed from what a user said. A decided one keeps its digest alone, so that it is not proposed again.

create table proposal (
  proposal_id  text primary key,
  at           integer not null,  -- microseconds
  reader       text not null,
  digest       text not null,     -- of the text in lower case
  text         text,              -- null after a yes or a no
  unique (reader, digest)
) strict, without rowid;
