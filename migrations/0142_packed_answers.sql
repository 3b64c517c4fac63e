-- Answers, compressed by the service: see runtime/transcripts/. A row has either the packed text or the one beside it.
alter table task_executions add column packed_result bytea;
alter table execution_steps add column packed_output bytea;
-- PostgreSQL would try in vain to compress them again.
alter table task_executions alter column packed_result set storage external;
alter table execution_steps alter column packed_output set storage external;
-- The step that has the result of an execution: an answer is stored once.
alter table task_executions add column answer_step integer;
