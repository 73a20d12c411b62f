-- The interaction log of the proxy: one row for each request, and one for each piece of its block. Texts only on request.

create table interaction (
  interaction_id  text primary key,  -- the trace id of the request
  at              integer not null,  -- microseconds
  reader          text not null,
  status          text not null,     -- enriched, bypassed or degraded
  about           text not null,     -- JSON: the other fields, without texts
  question        text,              -- null unless texts are kept
  block           text
) strict, without rowid;

create index interaction_by_time on interaction (at);

create table piece (
  interaction_id  text not null references interaction,
  place           integer not null,
  uri             text not null,
  about           text not null,     -- JSON
  primary key (interaction_id, place)
) strict, without rowid;

create index piece_by_uri on piece (uri);

create table setting (               -- as every database has it; notes that deleted data must be wiped
  workspace_id    integer not null,
  name            text not null,
  value           text not null,
  primary key (workspace_id, name)
) strict, without rowid;
