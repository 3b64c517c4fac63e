-- The text of an execution, compressed by the service until a prompt contains it: see runtime/platform/packing/. An execution has either
-- this or `content`. Each change of its row copies it.
alter table task_executions add column packed_content bytea;
-- PostgreSQL would try in vain to compress it again.
alter table task_executions alter column packed_content set storage external;
