-- What grows large is compressed by lz4: a run stores its prompt with the event's text, and pglz is what that costs most.
-- A server built without lz4 keeps the default.
do $$
begin
  alter table execution_steps alter column input set compression lz4;
  alter table execution_steps alter column output set compression lz4;
  alter table task_executions alter column result set compression lz4;
  alter table webhook_events alter column headers set compression lz4;
  alter table memories alter column content set compression lz4;
  alter table document_chunks alter column content set compression lz4;
exception when feature_not_supported then null;
end $$;
-- A step is written as started and once more as done. With room on its page the second version needs no entries in the indexes.
alter table execution_steps set (fillfactor = 85);
