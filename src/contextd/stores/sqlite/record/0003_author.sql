-- Who wrote a memory: reading it is for its principals, erasing it for its author.

create table memory_with_author (
  workspace_id  integer not null,
  memory_id     text not null,
  document_id   integer not null,
  kind          text not null,
  author        text not null,
  created       integer not null,
  clock         text not null,      -- hybrid logical clock of the last write
  primary key (workspace_id, memory_id)
) strict, without rowid;

insert into memory_with_author select workspace_id, memory_id, document_id, kind, 'owner', created, clock from memory;
drop table memory;
alter table memory_with_author rename to memory;
