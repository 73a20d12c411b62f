-- The profile of each person: one row for each dotted key.

create table profile (
  author  text not null,
  key     text not null,     -- such as communication.tone
  value   text not null,     -- JSON: a text, or a list of texts
  clock   text not null,
  primary key (author, key)
) strict, without rowid;
