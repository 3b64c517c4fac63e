-- Plugins that an operator installed. Which of their versions serves, and whether at all, is decided here for every replica.
create table plugins (
  id text primary key,
  -- The approved version that serves; null while none was approved.
  version text,
  enabled boolean not null default false,
  -- Settings and credentials, a JWE; null where there are none.
  settings text,
  -- Why it is not started any more: it crashed too often, or cannot be taken in.
  quarantine_code text,
  quarantine_reason text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create table plugin_versions (
  plugin_id text not null references plugins on delete cascade,
  version text not null,
  -- SHA-256 of the bundle, which is compared before every start.
  sha256 text not null,
  -- dist/plugin.json.
  manifest json not null,
  bundle bytea not null,
  -- Where it came from, and its integrity there, for the operator.
  origin text,
  integrity text,
  approved_at timestamptz(3),
  installed_at timestamptz(3) not null default now(),
  primary key (plugin_id, version)
);

-- Webhooks of sandboxed sources whose process was away when they came in: verified, stored, read later.
create table unread_webhooks (
  -- Also the id of the event that it becomes.
  id uuid primary key,
  plugin text not null,
  slug text not null,
  headers text not null,
  body bytea not null,
  -- JSON: how it came, where not as a webhook.
  way text not null default '{}',
  -- How often the process ended over reading it.
  attempts integer not null default 0,
  last_error text,
  -- A replica that reads it holds it until then.
  held_until timestamptz(3),
  received_at timestamptz(3) not null default now()
);
create index unread_webhooks_order on unread_webhooks (plugin, received_at, id);
