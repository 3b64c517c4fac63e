-- Names of issues that webhooks name only by an id of the platform, such as the comments of Jira Server, as the platform reported them
-- for an execution that the same webhook path started. Kept for a week, because an issue can be moved.
create table issue_names (
  source text not null,
  slug text not null,
  id text not null,
  project text not null,
  issue text not null,
  named_at timestamptz(3) not null default now(),
  primary key (source, slug, id)
);
create index issue_names_age on issue_names (named_at);
