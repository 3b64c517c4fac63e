-- The keys of writes of this comment whose outcome is not known: the platform may carry out their requests late. Write checks look for them.
alter table living_comments add column lost_keys text[] not null default '{}';
