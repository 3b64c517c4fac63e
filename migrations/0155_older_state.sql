-- Why an event is discarded that reports an older state of its issue, in plain words.
do $do$
declare
  given text := pg_get_functiondef('order_snapshots'::regproc);
  changed text := replace(given, 'it tells of an older state of the issue than an event that came before it',
    'it reports an older state of the issue than an event that arrived before it');
begin
  if changed = given then
    raise exception 'order_snapshots is not what this migration expects';
  end if;
  execute changed;
end $do$;
