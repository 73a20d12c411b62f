-- What contents refer to. A name is a 63-bit key: of its lower-case form where it is defined or imported, as it is where it is
-- called. Lines are 32-bit numbers.

create table reference (
  workspace_id  integer not null,
  name_key      integer not null,
  kind          integer not null,   -- 0: called, 1: inherited from
  content_id    integer not null,
  lines         blob not null,
  primary key (workspace_id, name_key, kind, content_id)
) strict, without rowid;

create index reference_by_content on reference (workspace_id, content_id);

create table import (
  workspace_id  integer not null,
  content_id    integer not null,
  target        text not null,      -- as it is written
  line          integer not null,
  stem_key      integer not null,   -- of the last part of the target
  primary key (workspace_id, content_id, target)
) strict, without rowid;

create index import_by_stem on import (workspace_id, stem_key);

create table definition (
  workspace_id  integer not null,
  name_key      integer not null,   -- of the last part of the name
  content_id    integer not null,
  line          integer not null,
  end_line      integer not null,
  kind          text not null,
  label         text not null,      -- qualified by what it stands in
  primary key (workspace_id, name_key, content_id, line)
) strict, without rowid;

create index definition_by_content on definition (workspace_id, content_id);
