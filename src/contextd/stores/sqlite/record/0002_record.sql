-- What people wrote, beside the same document tables as an index: durable, never derived.

create table registry (
  workspace_id  integer primary key,
  name          text not null,
  kind          text not null,      -- project | personal
  place         text not null,      -- git's common directory or the real root; empty for personal
  created       integer not null
) strict;

create unique index registry_by_place on registry (kind, place);

create table memory (
  workspace_id  integer not null,
  memory_id     text not null,
  document_id   integer not null,
  kind          text not null,
  created       integer not null,
  clock         text not null,      -- hybrid logical clock of the last write
  primary key (workspace_id, memory_id)
) strict, without rowid;

-- A forgotten memory leaves its random id and times, never a word of it: so that no backup and no device brings it back.
create table tombstone (
  workspace_id  integer not null,
  memory_id     text not null,
  clock         text not null,
  primary key (workspace_id, memory_id)
) strict, without rowid;

create table clock (
  device        text primary key,
  last          text not null
) strict, without rowid;

-- Who may read the documents of a source; a rebuild of the index restores it from here.
create table source_right (
  workspace_id  integer not null,
  source_id     integer not null,
  principals    text not null,      -- JSON
  clock         text not null,
  primary key (workspace_id, source_id)
) strict, without rowid;
