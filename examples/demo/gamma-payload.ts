const site = "https://acme.atlassian.net";

/** The time format of the platform. */
export const gammaTime = (iso: string): string => `${new Date(iso).toISOString().slice(0, 23)}+0000`;

export const gammaUser = (accountId: string, displayName: string) => ({
  self: `${site}/rest/api/2/user?accountId=${accountId}`,
  accountId,
  accountType: "atlassian",
  active: true,
  displayName,
  avatarUrls: Object.fromEntries(
    [48, 24, 16, 32].map((size) => [`${size}x${size}`, `https://avatar.example/${accountId}/${size}`]),
  ),
  timeZone: "Europe/Berlin",
});

const icon = (name: string) => `${site}/images/icons/${name}.svg`;
const categories: Readonly<Record<string, readonly [number, string, string]>> = {
  "To Do": [2, "new", "blue-gray"],
  "In Progress": [4, "indeterminate", "yellow"],
  Done: [3, "done", "green"],
};

function gammaStatus(name: string) {
  const [id, key, colorName] = categories[name] ?? [4, "indeterminate", "yellow"];
  const statusCategory = { self: `${site}/rest/api/2/statuscategory/${id}`, id, key, colorName, name };
  return {
    self: `${site}/rest/api/2/status/1000${id}`,
    description: "",
    iconUrl: icon(key),
    name,
    id: `1000${id}`,
    statusCategory,
  };
}

export interface GammaIssue {
  readonly key: string;
  readonly id: string;
  readonly summary: string;
  /** Wiki markup, as webhooks of both Cloud and Server contain it. */
  readonly description: string;
  readonly creator: ReturnType<typeof gammaUser>;
  /** ISO 8601. */
  readonly created: string;
  readonly updated?: string;
  readonly status?: string;
}

const emptyFieldNames = [
  "environment",
  "duedate",
  "resolution",
  "resolutiondate",
  "assignee",
  "security",
  "timespent",
  "timeestimate",
  "timeoriginalestimate",
  "aggregatetimespent",
  "aggregatetimeestimate",
  "aggregatetimeoriginalestimate",
  "lastViewed",
];
const custom = Array.from({ length: 120 }, (_, at) => [`customfield_${10_000 + at}`, at % 30 === 19 ? `0|i000${at}:` : null]);
/** Other members of every issue, which nothing uses. */
const emptyFields = {
  ...Object.fromEntries(emptyFieldNames.map((name) => [name, null])),
  ...Object.fromEntries(custom),
  workratio: -1,
  timetracking: {},
  versions: [],
  fixVersions: [],
  components: [],
  subtasks: [],
  issuelinks: [],
  attachment: [],
  issuerestriction: {},
  progress: { progress: 0, total: 0 },
  aggregateprogress: { progress: 0, total: 0 },
};
const bug = {
  self: `${site}/rest/api/2/issuetype/10004`,
  id: "10004",
  description: "A problem.",
  iconUrl: icon("bug"),
  name: "Bug",
  subtask: false,
  avatarId: 10303,
  hierarchyLevel: 0,
  entityId: "2e5ae5a5-3b1e-4b1c-8d62-000000000001",
};

/** An issue as webhooks contain it. */
export function gammaIssue({ key, id, summary, description, creator, created, updated = created, status = "To Do" }: GammaIssue) {
  const links = (path: string) => ({ self: `${site}/rest/api/2/issue/${key}/${path}` });
  const times = { created: gammaTime(created), updated: gammaTime(updated), statuscategorychangedate: gammaTime(created) };
  const fields = {
    ...emptyFields,
    ...times,
    summary,
    description,
    labels: ["bug"],
    creator,
    reporter: creator,
    status: gammaStatus(status),
    issuetype: bug,
    priority: { self: `${site}/rest/api/2/priority/2`, iconUrl: icon("high"), name: "High", id: "2" },
    project: {
      self: `${site}/rest/api/2/project/1`,
      id: "1",
      key: key.slice(0, key.lastIndexOf("-")),
      name: "App",
      projectTypeKey: "software",
      simplified: false,
      avatarUrls: creator.avatarUrls,
    },
    watches: { ...links("watchers"), watchCount: 1, isWatching: false },
    votes: { ...links("votes"), votes: 0, hasVoted: false },
  };
  return { id, self: `${site}/rest/api/2/${id}`, key, fields };
}

/** The payload of a webhook about an issue. */
export function gammaIssueHook(webhookEvent: string, issue: GammaIssue, more: Readonly<Record<string, unknown>> = {}) {
  const issue_event_type_name = webhookEvent.endsWith("created") ? "issue_created" : "issue_generic";
  const timestamp = Date.parse(issue.updated ?? issue.created);
  return { timestamp, webhookEvent, issue_event_type_name, user: issue.creator, issue: gammaIssue(issue), ...more };
}
