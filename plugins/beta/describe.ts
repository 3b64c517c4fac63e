import { type HttpClient, type SubjectDetails, stringAt, valueAt } from "@signalbox/sdk";
import type { Place } from "./place.ts";
import * as shapes from "./shapes.ts";

const issueEvent = /^(?:Confidential )?(?:Issue|Merge Request) Hook$/;
const noteEvent = /^(?:(?:Confidential )?Note|Emoji|Pipeline) Hook$/;

/**
 * Whether the payload is missing facts that people see on an issue or merge request. It contains only the author's id, unless the
 * author caused the event. Webhooks of notes, reactions and pipelines contain only a few members of the subject.
 */
export function isIncomplete(event: string, payload: unknown): boolean {
  if (noteEvent.test(event)) return ["issue", "merge_request"].some((name) => valueAt(payload, name) !== undefined);
  const item = valueAt(payload, "object_attributes");
  if (!issueEvent.test(event)) return false;
  const known = [["title"], ["state"], ["url"]].map((path) => stringAt(item, path));
  const author = valueAt(item, "author_id");
  return known.includes(null) || author === undefined || author !== valueAt(payload, "user", "id");
}

/** Reads an issue or merge request. Commits, snippets and epics are not read: their webhooks are complete. */
export async function describe(client: HttpClient, place: Place, signal: AbortSignal): Promise<SubjectDetails> {
  if (place.kind !== "issues" && place.kind !== "merge_requests")
    return { title: null, state: null, labels: [], author: null, url: null };
  const { project, kind, iid } = place;
  const request = { route: "GET /projects/{project}/{kind}/{iid}", path: { project, kind, iid }, schema: shapes.issue, signal };
  const { data } = await client.read(request);
  return {
    title: data.title ?? null,
    state: data.state ?? null,
    labels: data.labels ?? [],
    author: data.author?.username ?? null,
    url: data.web_url ?? null,
  };
}
