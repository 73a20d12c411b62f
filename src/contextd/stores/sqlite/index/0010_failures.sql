-- A failure says of which state of the file it is: while the file stays as it is, it is not read again.

alter table failure add column size integer not null default -1;
alter table failure add column mtime_ns integer not null default -1;
alter table failure add column ctime_ns integer not null default -1;
alter table failure add column inode integer not null default -1;
