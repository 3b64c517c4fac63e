-- Webhooks that were refused: what strangers send is not kept, only that they sent something, and why it was refused.
create table refused_deliveries (
  id uuid primary key,
  source text not null,
  slug text not null,
  event_name text,
  reason text not null,
  received_at timestamptz(3) not null default now()
);
create index refused_deliveries_source on refused_deliveries (source, id);

-- When a webhook was last accepted by the previous secret of an account, so that its end can be seen.
create table previous_secret_uses (
  connection text primary key,
  used_at timestamptz(3) not null default now()
);
