-- What an exchange between devices needs: whose a tombstone is, what was unlinked, which topics were renamed or deleted,
-- and which clocks were ahead of real time.

create table tombstone_with_author (
  workspace_id  integer not null,
  memory_id     text not null,
  author        text not null,      -- who forgot it: it erases no memory of anybody else
  clock         text not null,
  primary key (workspace_id, memory_id, author)
) strict, without rowid;

insert into tombstone_with_author select workspace_id, memory_id, 'owner', clock from tombstone;
drop table tombstone;
alter table tombstone_with_author rename to tombstone;

-- A relationship that was removed; goes with either memory when that is forgotten.
create table link_tombstone (
  workspace_id  integer not null,
  start_id      text not null,
  end_id        text not null,
  kind          text not null,
  clock         text not null,
  primary key (workspace_id, start_id, end_id, kind)
) strict, without rowid;

create index link_tombstone_by_end on link_tombstone (workspace_id, end_id);

-- Topics that were renamed, merged or deleted, each change once: memories that were written before it follow it.
create table topic_change (
  author        text not null,
  clock         text not null,
  name          text not null,
  new           text not null,      -- empty when it was deleted
  primary key (author, clock)
) strict, without rowid;

-- The topics as they were when the memory was written; null where no change of a topic came after it.
alter table memory add column told_topics text;

-- Clocks that were more than a day ahead, and what they were set back to.
create table clock_alias (
  author        text not null,
  original      text not null,
  clock         text not null,
  at            integer not null,   -- of `clock`, in microseconds
  primary key (author, original)
) strict, without rowid;
