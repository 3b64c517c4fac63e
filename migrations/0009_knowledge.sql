-- Members of a source's config that are secret: together one JWE, under the source's id.
alter table knowledge_sources
  add column secrets text,
  add column secret_members text[] not null default '{}';

-- One row per run of a source; its cursor and the pages below are its checkpoint.
create table ingestion_jobs (
  id uuid primary key,
  knowledge_source_id uuid not null references knowledge_sources on delete cascade,
  status text not null default 'queued' check (status in ('queued', 'running', 'succeeded', 'failed')),
  pages_seen integer not null default 0,
  pages_changed integer not null default 0,
  pages_deleted integer not null default 0,
  chunks_written integer not null default 0,
  error text,
  -- Where the listing of pages goes on; `listed` once it is complete.
  cursor text,
  listed boolean not null default false,
  -- Failures since the last progress.
  attempts integer not null default 0,
  next_attempt_at timestamptz(3) not null default now(),
  lease uuid,
  lease_expires_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3)
);
-- A source is synced once at a time.
create unique index ingestion_jobs_open on ingestion_jobs (knowledge_source_id) where status in ('queued', 'running');
create index ingestion_jobs_source on ingestion_jobs (knowledge_source_id, created_at desc, id desc);

create table knowledge_pages (
  knowledge_source_id uuid not null references knowledge_sources on delete cascade,
  page_id text not null,
  -- What the index holds; null: nothing yet.
  revision text,
  -- What the other side has, and the job that saw it last.
  listed_revision text not null,
  listed_by uuid not null,
  primary key (knowledge_source_id, page_id)
);
create index knowledge_pages_waiting on knowledge_pages (knowledge_source_id, page_id)
  where revision is distinct from listed_revision;

alter table document_chunks
  add column page_id text,
  add constraint document_chunks_page foreign key (knowledge_source_id, page_id) references knowledge_pages on delete cascade;
create index document_chunks_page on document_chunks (knowledge_source_id, page_id, chunk_index);
drop index document_chunks_source;
