-- Digests of the settings of a replica that all replicas should share, by name; see platform/fingerprints.ts.
alter table replicas add column settings jsonb;
