-- When the next request may go out in the name of an account at a tracker; Redis holds it instead where it is connected.
create table paces (
  key text primary key,
  next_at timestamptz not null
);
