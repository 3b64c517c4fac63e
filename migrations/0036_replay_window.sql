-- Bodies of signed webhooks that came lately, while WEBHOOK_REPLAY_HOURS is set: a copy is a duplicate whatever its delivery id.
create table webhook_bodies (
  slug text not null,
  -- SHA-256 of the raw bytes.
  digest bytea not null,
  event_id uuid not null,
  received_at timestamptz(3) not null default now(),
  primary key (slug, digest)
);
create index webhook_bodies_received on webhook_bodies (received_at);
