-- Projects that an API key is restricted to; null: all.
alter table api_keys add column projects bigint[];
