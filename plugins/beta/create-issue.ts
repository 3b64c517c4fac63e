import { type HttpClient, ifCode, type Json, type NewIssue, sanitizeText, truncate, valueAt } from "@signalbox/sdk";
import { addressOf, projectOf } from "./address.ts";
import { maxCommentLength } from "./comments.ts";
import { withoutQuickActions } from "./quick-actions.ts";
import * as shapes from "./shapes.ts";

const maxTitleLength = 255;

/** Creates an issue and returns its creation as the webhook will report it. */
export async function createIssue(client: HttpClient, issue: NewIssue, signal: AbortSignal) {
  const project = projectOf(issue.project);
  const title = truncate(sanitizeText(issue.title).replace(/\s+/g, " "), maxTitleLength);
  const body = { title, description: truncate(withoutQuickActions(sanitizeText(issue.body)), maxCommentLength) };
  const request = { route: "POST /projects/{project}/issues", path: { project }, body, schema: shapes.createdIssue, signal };
  const { data } = await client.write(request);
  const path = pathOf(project, data);
  const createdEvent = {
    object_kind: "issue",
    event_type: "issue",
    user: data.author ?? null,
    project: { id: valueAt(data, "project_id") ?? null, path_with_namespace: path },
    object_attributes: { title, ...data, action: "open" },
    labels: (data.labels ?? []).map((name) => ({ title: name })),
  };
  const payload = JSON.parse(JSON.stringify(createdEvent)) as Json;
  return { key: `${path}#${data.iid}`, url: data.web_url, event: { headers: { "x-beta-event": "Issue Hook" }, payload } };
}

/** A deleted issue counts as closed. */
export async function closeIssue(
  client: HttpClient,
  { project, key }: { project: string; key: string },
  signal: AbortSignal,
): Promise<void> {
  const path = { ...addressOf(key, project) };
  const body = { state_event: "close" };
  const request = { route: "PUT /projects/{project}/{kind}/{iid}", path, body, schema: shapes.changedIssue, signal };
  await client.write(request).catch(ifCode("not_found", null));
}

/** A project may be given by its number; webhooks contain its path. */
function pathOf(project: string, item: unknown): string {
  const full = valueAt(item, "references", "full");
  return /^\d+$/.test(project) && typeof full === "string" ? full.replace(/[#!]\d+$/, "") : project;
}
