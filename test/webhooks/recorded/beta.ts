import { startTracker } from "../../../plugins/beta/test-tracker.ts";
import { at, type Expected, firstLines, type Recorded, recordedOf } from "./recorded.ts";
import type { RecordedPlatform } from "./suite.ts";

/** Values of `X-Gitlab-Event` by the kind of object, as the platform documents them. */
const hooks: Readonly<Record<string, string>> = {
  issue: "Issue Hook",
  work_item: "Issue Hook",
  note: "Note Hook",
  merge_request: "Merge Request Hook",
  push: "Push Hook",
  tag_push: "Tag Push Hook",
  pipeline: "Pipeline Hook",
  build: "Job Hook",
  job: "Job Hook",
  wiki_page: "Wiki Page Hook",
  deployment: "Deployment Hook",
  release: "Release Hook",
  feature_flag: "Feature Flag Hook",
  access_token: "Resource Access Token Hook",
  subgroup_create: "Subgroup Hook",
};
function hookOf(file: string, payload: unknown): string {
  if (/system/i.test(file)) return "System Hook";
  const kind = String(at(payload, "object_kind") ?? "");
  if (hooks[kind]) return `${file.includes("confidential") ? "Confidential " : ""}${hooks[kind]}`;
  return /subgroup/.test(file) ? "Subgroup Hook" : "Member Hook";
}

const triggers: Readonly<Record<string, string>> = {
  "Issue Hook/open": "issue.created",
  "Issue Hook/close": "issue.closed",
  "Merge Request Hook/open": "pr.opened",
};

function expected({ file, payload, headers }: Recorded): Expected {
  const event = headers["x-gitlab-event"] ?? "";
  const isSystem = event === "System Hook";
  const kind = isSystem ? (at(payload, "event_name") ?? at(payload, "object_kind")) : at(payload, "object_attributes", "action");
  const action = (kind as string | undefined) ?? null;
  const place = placeOf(event, payload);
  const isPush = event === "Push Hook" || event === "Tag Push Hook";
  const actor = (at(payload, "user", "username") ?? (isPush ? at(payload, "user_username") : undefined) ?? null) as string | null;
  // One collection has a payload whose members have names with a space at the end.
  const isUnreadable = event === "Merge Request Hook" && at(payload, "object_attributes", "iid") === undefined;
  const refused = isSystem ? "add a webhook to the project" : isUnreadable ? "missing object_attributes.iid" : null;
  return {
    file,
    event,
    action,
    trigger: refused ? null : (triggers[`${event}/${action}`] ?? null),
    refused,
    subject: place && `beta:${place.project}#${place.issue}`,
    actor,
    kind: actor && "human",
    standing: actor && "unknown",
    text: refused ? [] : textOf(event, payload),
    answer: refused || !place ? null : answerOf(event, payload, place),
  };
}

interface Place {
  readonly project: string;
  readonly issue: string;
  readonly path: string;
}

/** Issues and merge requests by their iid, notes by what they are on, an epic by its group. */
function placeOf(event: string, payload: unknown): Place | null {
  const item = at(payload, "object_attributes");
  const project = (at(payload, "project", "path_with_namespace") ?? at(item, "target", "path_with_namespace")) as
    | string
    | undefined;
  const base = `projects/${encodeURIComponent(project ?? "")}`;
  if (at(payload, "object_kind") === "work_item" && at(item, "type") === "Epic") {
    const group = /\/groups\/(.+?)\/-\//.exec(String(at(item, "url")))?.[1];
    return group
      ? {
          project: group,
          issue: `&${at(item, "iid")}`,
          path: `groups/${encodeURIComponent(group)}/epics/${9_000 + Number(at(item, "iid"))}`,
        }
      : null;
  }
  if (project === undefined) return null;
  const issue = (iid: unknown) => ({ project, issue: `${iid}`, path: `${base}/issues/${iid}` });
  const merge = (iid: unknown) =>
    iid === undefined ? null : { project, issue: `!${iid}`, path: `${base}/merge_requests/${iid}` };
  if (event.endsWith("Issue Hook")) return issue(at(item, "iid"));
  if (event === "Merge Request Hook") return merge(at(item, "iid"));
  if (at(payload, "issue", "iid")) return issue(at(payload, "issue", "iid"));
  if (at(payload, "merge_request", "iid")) return merge(at(payload, "merge_request", "iid"));
  if (!event.endsWith("Note Hook")) return null;
  const sha = at(payload, "commit", "id");
  if (sha) return { project, issue: `@${sha}`, path: `${base}/repository/commits/${sha}` };
  const snippet = at(payload, "snippet", "id");
  return snippet ? { project, issue: `$${snippet}`, path: `${base}/snippets/${snippet}` } : null;
}

/** "changes" of an update: each member with what it was and what it is. An `open` lists every member. */
function changesIn(payload: unknown): string[] {
  if (at(payload, "object_attributes", "action") === "open") return [];
  const [from, to] = ["previous", "current"].map((side) => at(payload, "changes", "title", side));
  return typeof from === "string" && typeof to === "string" ? [`title: ${from} → ${to}`] : [];
}

const always = [["project", "path_with_namespace"]];
/** What the agent needs of the events that are not about an issue, a merge request or a note. */
const others: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "Push Hook": [["ref"], ["before"], ["after"]],
  "Tag Push Hook": [["ref"], ["after"]],
  "Pipeline Hook": [
    ["object_attributes", "status"],
    ["object_attributes", "ref"],
    ["object_attributes", "sha"],
    ["object_attributes", "source"],
    ["merge_request", "title"],
  ],
  "Job Hook": [["build_name"], ["job_name"], ["build_status"], ["job_status"], ["build_stage"], ["job_stage"], ["ref"], ["sha"]],
  "Deployment Hook": [["environment"], ["status"], ["short_sha"], ["commit_title"]],
  "Release Hook": [["name"], ["tag"], ["description"], ["url"], ["action"]],
  "Feature Flag Hook": [
    ["object_attributes", "name"],
    ["object_attributes", "description"],
  ],
  "Wiki Page Hook": [
    ["object_attributes", "title"],
    ["object_attributes", "content"],
    ["object_attributes", "action"],
  ],
  "Subgroup Hook": [["event_name"]],
  "Member Hook": [["event_name"]],
  "Resource Access Token Hook": [["event_name"]],
};

function textOf(event: string, payload: unknown): string[] {
  const item = "object_attributes";
  if (/^(Confidential )?(Issue|Merge Request) Hook$/.test(event)) {
    const labels = (at(payload, "labels") ?? []) as { title: string }[];
    const described = firstLines(payload, [
      [item, "title"],
      [item, "description"],
      ["user", "username"],
      [item, "source_branch"],
    ]);
    return [...described, ...labels.map(({ title }) => title), ...changesIn(payload)];
  }
  if (!event.endsWith("Note Hook")) return firstLines(payload, [...always, ...(others[event] ?? [])]);
  const on = ["issue", "merge_request", "snippet"].map((name) => [name, "title"]);
  const line = at(payload, item, "position", "new_line");
  return [
    ...firstLines(payload, [[item, "note"], ["user", "username"], ["commit", "message"], ["snippet", "content"], ...on]),
    ...firstLines(payload, [
      [item, "position", "new_path"],
      [item, "st_diff", "new_path"],
    ]),
    ...(typeof line === "number" ? [`Line: ${line}`] : []),
  ];
}

/** Notes API; Discussions API for threads and commits. What is confidential is answered by an internal note. */
function answerOf(event: string, payload: unknown, { path }: Place): string {
  const note = at(payload, "object_attributes");
  const isThread = event.endsWith("Note Hook") && ["DiffNote", "DiscussionNote"].includes(String(at(note, "type")));
  const internal = event.startsWith("Confidential ") ? ' {"internal":true}' : "";
  const post = `POST /api/v4/${path}`;
  if (isThread) return `${post}/discussions/${at(note, "discussion_id")}/notes${internal}`;
  return `${post}/${path.includes("/commits/") ? "discussions" : "notes"}${internal}`;
}

export const beta: RecordedPlatform = {
  source: "beta",
  recorded: () =>
    recordedOf("beta", (file, payload) => ({
      "x-gitlab-event": hookOf(file, payload),
      "x-gitlab-event-uuid": "{delivery}",
      "x-gitlab-token": "test-token-1",
    })),
  expected,
  tracker: async () => {
    const tracker = await startTracker();
    return Object.assign(tracker, { env: { BETA_URL: tracker.url, BETA_TOKEN: "test-token-1" } });
  },
};
