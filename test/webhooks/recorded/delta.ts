import { startTracker, workspace } from "../../../plugins/delta/test-tracker.ts";
import { at, type Expected, firstLines, type Recorded, recordedOf } from "./recorded.ts";
import type { RecordedPlatform } from "./suite.ts";

/** The project of the payloads that do not name it, at the simulated tracker. */
const found = "8a2f6f0e-3b7e-4c57-9f6b-1f0d9c6f7a10";
const verbs: Readonly<Record<string, string>> = { create: "created", update: "updated", delete: "deleted" };

/** The names of both envelopes, and those of the scopes that the documentation prints. */
function eventOf(payload: unknown): string {
  const name = String(at(payload, "event"))
    .replace("WebhookScope.ScopeChoices.WORK_ITEM_UPDATED", "workitem.updated")
    .replace(/^workitem\.comment\./, "issue_comment.")
    .replace(/^workitem\./, "issue.");
  const action = at(payload, "action") as string | undefined;
  const whole = action === undefined ? name : `${name}.${verbs[action] ?? action}`;
  return whole === "issue_comment.created" ? "issue.activity.created" : whole;
}

const isComment = (event: string) => event.startsWith("issue_comment.") || event === "issue.activity.created";
/** Both envelopes have the comment in another place. */
const commentOf = (payload: unknown) => at(payload, "data", "comment") ?? at(payload, "data");

function issueOf(event: string, payload: unknown): unknown {
  if (isComment(event)) return at(commentOf(payload), "issue_id") ?? at(commentOf(payload), "issue");
  if (event === "issue.link.created") return at(payload, "data", "issue_id");
  return /^issue\.(created|updated|deleted)$/.test(event) ? (at(payload, "data", "id") ?? at(payload, "entity_id")) : undefined;
}

/** The actor of the first envelope; in the second the last one who changed what it is about. */
function actorOf(event: string, payload: unknown): string | null {
  const about = isComment(event) ? commentOf(payload) : at(payload, "data");
  const [created, updated] = [
    at(about, "created_by_id") ?? at(about, "created_by"),
    at(about, "updated_by_id") ?? at(about, "updated_by"),
  ];
  const last = event.endsWith("created") ? created : event.endsWith("deleted") ? null : updated;
  const actor = at(payload, "activity", "actor", "id") ?? at(payload, "data", "comment", "actor_id") ?? last ?? null;
  return actor === "None" ? null : (actor as string | null);
}

function expected({ file, payload }: Recorded): Expected {
  const event = eventOf(payload);
  const issue = issueOf(event, payload);
  const actor = actorOf(event, payload);
  const isRefused = isComment(event) && issue === undefined;
  const places = [at(payload, "data"), at(payload, "previous_attributes")];
  const project = places.map((one) => at(one, "project_id") ?? at(one, "project")).find((one) => one !== undefined);
  const internal = isComment(event) && at(commentOf(payload), "access") === "INTERNAL" ? ' {"access":"INTERNAL"}' : "";
  const path = `/api/v1/workspaces/${workspace}/projects/${project ?? found}/issues/${issue}/comments/`;
  return {
    file,
    event,
    action: null,
    trigger: /^issue\.(created|updated)$/.test(event) ? event : null,
    refused: isRefused ? "missing data.issue_id" : null,
    subject: issue ? `delta:${project ?? "-"}#${issue}` : null,
    actor,
    kind: actor && "unknown",
    standing: actor && "unknown",
    text: isRefused ? [] : textOf(event, payload),
    answer: issue ? `POST ${path}${internal}` : null,
  };
}

/** Title, link, comment, and what changed: `activity` of the first envelope, `previous_attributes` of the second. */
function textOf(event: string, payload: unknown): string[] {
  const words = String(at(payload, "data", "comment_stripped") ?? "").split(" ");
  const before = at(payload, "previous_attributes", "name") ?? at(payload, "activity", "old_value");
  const isRenamed = at(payload, "activity", "field") === "name" || at(payload, "previous_attributes", "name") !== undefined;
  const paths = [
    ["data", "name"],
    ["data", "cycle", "name"],
    ["data", "url"],
    ["data", "comment", "comment_stripped"],
  ];
  return [
    ...firstLines(payload, paths),
    // Words in bold come after the first three.
    ...(words.length > 3 ? [words.slice(0, 3).join(" ")] : []),
    ...(event === "issue.updated" && isRenamed ? [`name: ${before} → ${at(payload, "data", "name")}`] : []),
    ...(event === "issue.deleted" ? ["issue: deleted"] : []),
  ];
}

const recorded = () => recordedOf("delta", () => ({ "x-delta-delivery": "{delivery}", "x-api-key": "test-key-1" }));

export const delta: RecordedPlatform = {
  source: "delta",
  recorded,
  expected,
  /** Beside the text and the id by which it is found again. */
  beside: ({ comment_html: _, external_id: __, external_source: ___, ...more }) => more,
  tracker: async () => {
    const tracker = await startTracker();
    tracker.isOneProject = true;
    for (const issue of new Set(recorded().map(({ payload }) => issueOf(eventOf(payload), payload))))
      if (typeof issue === "string") tracker.addIssue(issue, new Date().toISOString());
    const env = { DELTA_API_URL: tracker.url, DELTA_API_KEY: "test-key-1", DELTA_WORKSPACE_SLUG: workspace };
    return Object.assign(tracker, { env });
  },
};
