-- What operators changed. Each row's hash covers its entry and the hash of the row before, so a row that is changed, removed
-- or inserted later shows: `signalbox audit verify`.
create table audit_log (
  seq bigint primary key,
  created_at timestamptz(3) not null,
  -- Kept as text: the hash is over these very bytes. The other columns are made from it and cannot differ.
  entry json not null,
  actor text generated always as (entry ->> 'actor') stored,
  operation text generated always as (entry ->> 'operation') stored,
  object text generated always as (entry ->> 'object') stored,
  previous_hash bytea not null,
  hash bytea not null
);
create index audit_log_object on audit_log (object, seq desc);
create index audit_log_actor on audit_log (actor, seq desc);
create index audit_log_created on audit_log (created_at);

-- The end of the chain. Replicas append one after the other, because they lock this row.
create table audit_head (
  singleton boolean primary key default true check (singleton),
  seq bigint not null,
  hash bytea not null
);
insert into audit_head (seq, hash) values (0, decode(repeat('00', 32), 'hex'));

create function append_to_audit_log(entries text[]) returns void language plpgsql as $$
declare
  head record;
  entry text;
  next bytea;
begin
  select * into head from audit_head for update;
  foreach entry in array entries loop
    next := sha256(head.hash || convert_to(entry, 'UTF8'));
    head.seq := head.seq + 1;
    insert into audit_log (seq, created_at, entry, previous_hash, hash)
      values (head.seq, (entry::json ->> 'at')::timestamptz, entry::json, head.hash, next);
    head.hash := next;
  end loop;
  update audit_head set seq = head.seq, hash = head.hash;
end $$;
