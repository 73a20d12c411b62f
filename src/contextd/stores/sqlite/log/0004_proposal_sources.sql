-- The chat in which a proposal was said, so that it is forgotten with the chat.

alter table proposal add column source text not null default '';
