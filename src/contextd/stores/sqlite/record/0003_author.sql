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

-- Who wrote a memory could always read it: the owner, or the one other who may.
insert into memory_with_author
select m.workspace_id, m.memory_id, m.document_id, m.kind,
  coalesce((
    select min(a.principal) from document d join acl a on a.workspace_id = d.workspace_id and a.acl_id = d.acl_id
    where d.workspace_id = m.workspace_id and d.document_id = m.document_id and d.dead_seq is null
    and a.principal != 'everyone' and not exists (
      select 1 from acl o where o.workspace_id = a.workspace_id and o.acl_id = a.acl_id and o.principal = 'owner')
  ), 'owner'), m.created, m.clock
from memory m;
drop table memory;
alter table memory_with_author rename to memory;
