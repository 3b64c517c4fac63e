-- A command whose webhook names its issue only by an id is found by its comment.
create index webhook_events_carried_out on webhook_events (comment) where carried_out;
