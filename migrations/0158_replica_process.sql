-- The operating system's process of a replica: one that starts on the same host can tell whether an earlier one still exists.
alter table replicas add column process text;
