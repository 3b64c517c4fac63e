-- The one comment of an agent on an issue that is edited in place (presence `comment`). It outlives the executions it shows.
create table living_comments (
  subject text not null,
  agent text not null,
  -- `public`, `private`, or a thread of the issue: what is private must not appear in a public comment.
  place text not null,
  -- The account that posted it: no other can edit it.
  connection text not null,
  comment_id text,
  url text,
  -- The key that its marker holds.
  key text,
  -- The key of a write that began and is not known to have ended: it is looked for before the next one.
  pending_key text,
  -- The execution whose answer it shows.
  settled_by uuid,
  -- One write at a time. Requests of a holder end before its lease does.
  lease text,
  lease_expires_at timestamptz(3),
  primary key (subject, agent, place, connection)
);
