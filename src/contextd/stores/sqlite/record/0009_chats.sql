-- What is known of a chat or a note beside its text; goes with it when it is forgotten.

create table chat (
  workspace_id  integer not null,
  document_id   integer not null,
  first         integer not null,   -- of its author and its first message: finds it when its file has another name
  chain         blob not null,      -- a digest for each message and all before it
  said          blob not null,      -- compressed JSON: title, name, and of every message author, role, time and number of lines
  primary key (workspace_id, document_id)
) strict, without rowid;

create index chat_by_first on chat (workspace_id, first);
