-- Access tokens of the service. The secret itself is not stored.

create table access_token (
  token_id    text primary key,   -- the public part of the token
  name        text not null unique,
  digest      blob not null,      -- SHA-256 of the secret part
  reader      text not null,
  groups      text not null,      -- JSON
  may         text not null,      -- read, write or admin
  workspaces  text not null,      -- JSON; empty for all projects
  private     integer not null,   -- whether private memories and folders may answer
  created     integer not null,
  expires     integer             -- in microseconds; null for never
) strict, without rowid;
