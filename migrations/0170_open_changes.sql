-- Changes by operators that have begun, and whose result is not in the audit log yet. The statement that appends the result removes the
-- row. If the replica of a change has ended, another one appends the entry, which says that the result is unknown.
create table open_changes (
  id uuid primary key,
  -- A replica of `replicas`, or a process of the command line.
  replica uuid not null,
  entry json not null,
  begun_at timestamptz(3) not null default now()
);
