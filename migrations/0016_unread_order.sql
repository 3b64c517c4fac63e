-- Kept webhooks of one slug are read in the order in which they came, and given up after a time: then they need a source.
alter table unread_webhooks add column source text;
update unread_webhooks set source = plugin;
alter table unread_webhooks alter column source set not null;
drop index unread_webhooks_order;
create index unread_webhooks_order on unread_webhooks (plugin, slug, received_at, id);
