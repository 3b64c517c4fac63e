-- The input of a step, compressed by the service: see runtime/transcripts/packed-input.ts. A step has either this or `input`.
alter table execution_steps add column packed bytea;
-- PostgreSQL would try in vain to compress it again.
alter table execution_steps alter column packed set storage external;

-- The room that was left for new versions of a row on its page is no use: the state of a step is part of indexes, so each
-- version has entries of its own in all of them.
alter table execution_steps set (fillfactor = 100);
