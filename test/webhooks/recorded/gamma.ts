import { startTracker } from "../../../plugins/gamma/test-tracker.ts";
import { at, type Expected, type Recorded, recordedOf } from "./recorded.ts";
import type { RecordedPlatform } from "./suite.ts";

/** `issue_event_type_name` of the updates by which Server and Data Center report comments. */
const comments: Readonly<Record<string, string>> = {
  issue_commented: "comment_created",
  issue_comment_edited: "comment_updated",
  issue_comment_deleted: "comment_deleted",
};
const triggers: Readonly<Record<string, string>> = {
  "gamma:issue_created": "issue.created",
  "gamma:issue_updated": "issue.updated",
  comment_created: "issue.commented",
};
/** Ids of issues that come without their key, by the other files of the same sites. */
const keys: Readonly<Record<string, string>> = { "10013": "PRJX-14", "10000": "BUG-15", "10014": "WORK-14" };

const itemsOf = (payload: unknown) => (at(payload, "changelog", "items") ?? []) as Record<string, string | null>[];

function eventOf(file: string, payload: unknown): string {
  const name = String(at(payload, "webhookEvent")).replace(/^jira:/, "gamma:");
  if (name !== "gamma:issue_updated" || itemsOf(payload).length > 0) return name;
  const type = comments[String(at(payload, "issue_event_type_name"))];
  if (type || at(payload, "comment") === undefined) return type ?? name;
  return file.includes("edited") ? "comment_updated" : "comment_created";
}

/** The id in the address of a comment, or of a work log. */
const idOf = (payload: unknown): string =>
  String(at(payload, "worklog", "issueId") ?? /\/issue\/(\d+)\//.exec(String(at(payload, "comment", "self")))?.[1]);

function personOf(event: string, payload: unknown): unknown {
  const thing = ["comment", "worklog", "attachment"].map((name) => at(payload, name)).find((one) => one !== undefined);
  const [author, changed] = [at(thing, "author"), at(thing, "updateAuthor")];
  return at(payload, "user") ?? (event.endsWith("_created") ? author : (changed ?? author));
}

/** The beginning of a text up to the first sign that means something in wiki markup or Markdown. */
const plain = (text: unknown): string[] => {
  const found = typeof text === "string" ? (/^[A-Za-z0-9 .']+/.exec(text.trim())?.[0].trim() ?? "") : "";
  return found.length > 1 && !/^\d+\.$/.test(found) ? [found] : [];
};

function textOf(event: string, payload: unknown): string[] {
  const fields = at(payload, "issue", "fields");
  const shown = (value: string | null | undefined) => (value ? value.replace(/\s+/g, " ") : "none");
  const changes = itemsOf(payload)
    .filter(({ field }) => field !== "description")
    .map(
      (item) =>
        `${item.field}: ${shown(item.fromString)} → ${shown(Object.hasOwn(item, "toString") ? (item.toString as unknown as string) : null)}`,
    );
  const told = [
    ...plain(at(fields, "summary")),
    ...plain(at(payload, "comment", "body")),
    ...plain(at(fields, "description")),
    ...plain(at(payload, "worklog", "timeSpent")),
    ...plain(at(payload, "attachment", "filename")),
    ...plain(at(fields, "status", "name")),
  ];
  if (event === "gamma:issue_deleted") return [...told, "issue: deleted"];
  if (event === "comment_deleted") return [...told, "deleted"];
  if (event === "comment_updated") return [...told, "edited"];
  return event === "gamma:issue_updated" ? [...told, ...changes.filter((line) => line.length < 200)] : told;
}

const expectedAt =
  (version: 2 | 3) =>
  ({ file, payload }: Recorded): Expected => {
    const event = eventOf(file, payload);
    const key = at(payload, "issue", "key") as string | undefined;
    const project = at(payload, "issue", "fields", "project", "key") ?? key?.replace(/-\d+$/, "");
    const person = personOf(event, payload);
    const actor = (at(person, "accountId") ?? at(person, "name") ?? null) as string | null;
    const type = at(person, "accountType");
    const isHidden = at(payload, "issue", "fields", "security")
      ? ' {"properties":[{"key":"sd.public.comment","value":{"internal":true}}]}'
      : "";
    return {
      file,
      event,
      action: null,
      trigger: triggers[event] ?? null,
      refused: null,
      subject: key ? `gamma:${project}#${key}` : `gamma:-#${idOf(payload)}`,
      actor,
      kind: actor && (type === "atlassian" ? "human" : "unknown"),
      standing: actor && "unknown",
      text: textOf(event, payload),
      answer: `POST /rest/api/${version}/issue/${key ?? keys[idOf(payload)]}/comment${isHidden}`,
    };
  };

/** Several recordings are of one comment, which is one event: each gets a comment of its own here. */
function recorded(): Recorded[] {
  const seen = new Set<unknown>();
  return recordedOf("gamma", () => ({ "x-atlassian-webhook-identifier": "{delivery}" })).map((one, number) => {
    const id = at(one.payload, "comment", "id");
    if (id === undefined || !seen.has(id)) {
      seen.add(id);
      return one;
    }
    const comment = { ...(one.payload.comment as object), id: `${id}${number}` };
    return { ...one, payload: { ...one.payload, comment } };
  });
}

const platform = (name: string, version: 2 | 3): RecordedPlatform => ({
  source: "gamma",
  name,
  recorded,
  expected: expectedAt(version),
  /** Beside the text and the property by which it is found again. */
  beside: ({ properties }) => {
    const more = (properties as { key: string }[]).filter(({ key }) => key !== "signalbox");
    return more.length > 0 ? { properties: more } : {};
  },
  tracker: async () => {
    const tracker = await startTracker(version);
    const known = recorded().flatMap(({ payload }) => (at(payload, "issue", "key") as string | undefined) ?? []);
    for (const key of new Set([...known, ...Object.values(keys)])) {
      const issue = tracker.addIssue(key, new Date().toISOString());
      const id = Object.keys(keys).find((one) => keys[one] === key) ?? `id-${key}`;
      Object.assign(issue, { id }, { fields: { ...issue.fields, project: { key: key.replace(/-\d+$/, "") } } });
    }
    const cloud = { GAMMA_EMAIL: "bot@example.com", GAMMA_IS_CLOUD: "true" };
    const env = { GAMMA_URL: tracker.url, GAMMA_API_TOKEN: "t", ...(version === 3 ? cloud : { GAMMA_IS_CLOUD: "false" }) };
    return Object.assign(tracker, { env });
  },
});

export const gammaCloud = platform("gamma-cloud", 3);
export const gammaServer = platform("gamma-server", 2);
