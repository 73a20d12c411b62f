-- One project's documents. Every key begins with the workspace; ids are made by the client; no trigger, no default.
-- A commit takes the next `seq` of its workspace first; rows say since when (seq) and until when (dead_seq) they hold.

create table workspace (
  workspace_id   integer primary key,
  seq            integer not null,
  collected_seq  integer not null,   -- below this the change feed is incomplete: rebuild
  generation     integer not null,   -- the base file of the word and vector structures; 0: none
  folded_seq     integer not null    -- the base holds every change up to here
) strict;

create table acl (
  workspace_id  integer not null,
  acl_id        integer not null,
  principal     text not null,
  primary key (workspace_id, acl_id, principal)
) strict, without rowid;

create table document (
  workspace_id  integer not null,
  document_id   integer not null,
  seq           integer not null,
  dead_seq      integer,
  source_id     integer not null,
  uri           text not null,
  content_id    integer not null,
  acl_id        integer not null,
  language      text not null,
  size          integer not null,
  mtime_ns      integer not null,
  ctime_ns      integer not null,
  inode         integer not null,
  digest        blob not null,      -- of the file as it is on disk: for change detection only
  modified      integer not null,   -- UTC microseconds
  path_terms    blob not null,
  primary key (workspace_id, document_id, seq)
) strict, without rowid;

create index document_by_seq on document (workspace_id, seq);
create index document_by_death on document (workspace_id, dead_seq) where dead_seq is not null;
create index document_by_content on document (workspace_id, content_id) where dead_seq is null;

-- Content is stored once, whatever paths, branches or worktrees it comes from.
create table content (
  workspace_id  integer not null,
  content_id    integer not null,
  seq           integer not null,
  text          blob not null,      -- scrubbed, compressed
  primary key (workspace_id, content_id)
) strict;

create table chunk (
  workspace_id  integer not null,
  content_id    integer not null,
  ordinal       integer not null,
  kind          text not null,
  label         text not null,
  heading       text not null,      -- JSON
  names         text not null,      -- JSON
  start_line    integer not null,
  end_line      integer not null,
  start_at      integer not null,
  end_at        integer not null,
  tokens        integer not null,
  primary key (workspace_id, content_id, ordinal)
) strict, without rowid;

-- Words of contents that are not in the base yet.
create table words (
  workspace_id  integer not null,
  content_id    integer not null,
  seq           integer not null,
  data          blob not null,
  primary key (workspace_id, content_id)
) strict;

create table vector (
  workspace_id  integer not null,
  content_id    integer not null,
  space         text not null,
  seq           integer not null,
  data          blob not null,      -- int8 rows with a scale each
  primary key (workspace_id, content_id, space)
) strict;

create index vector_by_seq on vector (workspace_id, seq);

-- Secrets that were scrubbed: where and by which rule, never what.
create table find (
  workspace_id  integer not null,
  content_id    integer not null,
  line          integer not null,
  rule          text not null,
  primary key (workspace_id, content_id, line, rule)
) strict, without rowid;

create table failure (
  workspace_id  integer not null,
  uri           text not null,
  error         text not null,
  at            integer not null,
  retries       integer not null,
  primary key (workspace_id, uri)
) strict, without rowid;

create table setting (
  workspace_id  integer not null,
  name          text not null,
  value         text not null,
  primary key (workspace_id, name)
) strict, without rowid;
