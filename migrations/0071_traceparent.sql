-- The trace that the sender of a webhook began, as its `traceparent` header says it. Null: the trace is that of the event's id.
alter table webhook_events add column traceparent text;
