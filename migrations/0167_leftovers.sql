-- A machine that could run no plugin quarantined its plugins on all replicas. It now waits instead, so nothing but an operator would end
-- these quarantines.
update plugins set quarantine_code = null, quarantine_reason = null, updated_at = now() where quarantine_code = 'NO_SANDBOX';

-- Nothing reads it.
alter table use_cases drop column if exists set_up_at;
