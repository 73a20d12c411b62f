-- All that is known of a memory beside its text, what it was before, how memories relate, and the topics of a person.

create table memory_known (
  workspace_id  integer not null,
  memory_id     text not null,
  document_id   integer not null,
  fingerprint   integer not null,   -- of the text without case and punctuation: the same thing said twice
  author        text not null,
  said          integer not null,
  kind          text not null,
  about         text not null,      -- whose it is: empty for the person's own
  attribute     text not null,
  value         text not null,
  unit          text not null,
  topics        text not null,      -- JSON
  language      text not null,
  confidence    real not null,
  source        text not null,      -- person, or what it was taken from
  conversation  text not null,
  verified      text not null,      -- JSON: the fields a person set
  valid_from    integer not null,
  valid_to      integer,
  replaced_by   text not null,
  pinned        integer not null,
  silent        integer not null,
  private       integer not null,
  useful        integer not null,
  useless       integer not null,
  enriched      integer not null,
  changed       integer not null,
  clock         text not null,      -- hybrid logical clock of the last write
  primary key (workspace_id, memory_id)
) strict, without rowid;

insert into memory_known
select workspace_id, memory_id, document_id, 0, author, created, 'unknown', '', '', '', '', '[]', '', 1.0, 'person', '', '[]',
  created, null, '', 0, 0, 0, 0, 0, 0, created, clock
from memory;
drop table memory;
alter table memory_known rename to memory;

create unique index memory_by_document on memory (workspace_id, document_id);
create index memory_by_fingerprint on memory (workspace_id, fingerprint);
create index memory_by_attribute on memory (workspace_id, attribute, about, said) where attribute != '';
create index memory_taught on memory (workspace_id, author) where instr(verified, '"kind"') > 0;
create index memory_by_validity on memory (workspace_id, valid_from);
create index memory_not_answering on memory (workspace_id, document_id) where valid_to is not null or silent or private;

-- What a memory was before a change; goes with it when it is forgotten.
create table memory_version (
  workspace_id  integer not null,
  memory_id     text not null,
  clock         text not null,      -- of the version
  at            integer not null,   -- when it was changed
  by            text not null,
  text          blob not null,
  data          text not null,      -- JSON: the other fields
  primary key (workspace_id, memory_id, clock)
) strict, without rowid;

create table link (
  workspace_id  integer not null,
  start_id      text not null,
  end_id        text not null,
  kind          text not null,
  clock         text not null,
  primary key (workspace_id, start_id, end_id, kind)
) strict, without rowid;

create index link_by_end on link (workspace_id, end_id);

create table topic (
  workspace_id  integer not null,
  author        text not null,      -- whose it is: nobody else sees it
  name          text not null,
  parent        text not null,      -- the topic it is below, or empty
  clock         text not null,
  primary key (workspace_id, author, name)
) strict, without rowid;
