-- Work on this index: what was asked for, by whom, how far it is, and what became of it.

create table job (
  workspace_id  integer not null,
  job_id        text not null,
  kind          text not null,      -- index | refresh | rebuild
  state         text not null,      -- queued | in_progress | cancelling | completed | failed | cancelled
  who           text not null,
  paths         text not null,      -- JSON
  options       text not null,      -- JSON
  created       integer not null,   -- UTC microseconds, like all times here
  started       integer,
  heartbeat     integer,
  ended         integer,
  done          integer not null,
  total         integer not null,
  message       text not null,
  report        text not null,      -- JSON
  primary key (workspace_id, job_id)
) strict, without rowid;

create table job_log (
  workspace_id  integer not null,
  job_id        text not null,
  number        integer not null,
  at            integer not null,
  line          text not null,
  primary key (workspace_id, job_id, number)
) strict, without rowid;
