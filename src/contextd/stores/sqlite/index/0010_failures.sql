-- The state of a file that failed: while the file stays as it is, it is not read again. A table of its own, so that a process of an
-- older version, which writes rows of `failure` as it knows them, goes on working.

create table failure_stamp (
  workspace_id  integer not null,
  uri           text not null,
  size          integer not null,
  mtime_ns      integer not null,
  ctime_ns      integer not null,
  inode         integer not null,
  primary key (workspace_id, uri)
) strict, without rowid;
