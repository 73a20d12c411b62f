-- A job says how often it was begun, why it did not complete, and until when its process has the right to be silent.

create table job_0007 (
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
  attempts      integer not null,
  reason        text not null,      -- of a job that failed or was cancelled
  lease_end     integer,            -- of a job under way: after this moment its process counts as dead
  primary key (workspace_id, job_id)
) strict, without rowid;

insert into job_0007
select workspace_id, job_id, kind, state, who, paths, options, created, started, heartbeat, ended, done, total, message, report,
  iif(started is null, 0, 1), iif(state in ('failed', 'cancelled'), message, ''), null
from job;

drop table job;
alter table job_0007 rename to job;
