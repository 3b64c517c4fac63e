-- The title of an event's issue. It goes with the body of the event: by retention, and by an erasure.
alter table webhook_events add column title text;
