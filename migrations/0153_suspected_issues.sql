-- The issue of all failures so far, if its requests may be the cause of them. An execution on another issue then tries at once.
alter table breakers add column suspect text;
