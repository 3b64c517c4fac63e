-- This column keeps whole milliseconds. `now()` could be rounded up, so that a claim right after an insert found the execution not yet due,
-- and its worker slept. Updates cut off the rest, too.
alter table task_executions alter column run_after set default date_trunc('milliseconds', now());
