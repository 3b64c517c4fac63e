-- Only events that start something are compared with newer ones of their issue: see order_snapshots().
create index webhook_events_dispatched_snapshots on webhook_events (subject, occurred_at) where snapshot and outcome = 'dispatched';
drop index webhook_events_snapshots;
