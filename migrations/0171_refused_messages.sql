-- Messages that a queue refused while it accepted others. They are acknowledged in `queue_takes`, and published again from here.
create table refused_messages (
  queue text not null,
  message_id text not null,
  happened_at timestamptz(3) not null,
  reason text not null,
  refusals integer not null default 1,
  next_try_at timestamptz(3) not null,
  primary key (queue, message_id)
);
create index refused_messages_next_try on refused_messages (queue, next_try_at);
