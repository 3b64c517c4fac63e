-- Sessions of the console. A session is only as good as the key that began it: the key is looked up again at every request.
create table console_sessions (
  -- SHA-256 of the cookie's value, which is 256 random bits.
  token_hash bytea primary key,
  -- SHA-256 of the API key.
  key_hash bytea not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index console_sessions_expires on console_sessions (expires_at);
