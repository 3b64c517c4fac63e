-- The newest entry of the audit log that retention removed, so that oldest entries which something else removed are noticed. Entries that a
-- replica of an older version removes count as missing until retention removes newer ones.
alter table audit_head add column removed_to bigint not null default 0;
update audit_head set removed_to = coalesce((select min(seq) - 1 from audit_log), 0);
