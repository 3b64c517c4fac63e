import { ifCode, type Json, type NewIssue, PluginError, sanitizeText, truncate, valueAt } from "@signalbox/sdk";
import { addressOf } from "./address.ts";
import { htmlOf } from "./bodies.ts";
import type { Account } from "./client.ts";
import { projectId, statesOf } from "./projects.ts";
import { webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

const base = "/workspaces/{slug}/projects/{project}";
const maxTitleLength = 255;

/** Creates an issue and returns its creation as the webhook will report it. */
export async function createIssue(account: Account, issue: NewIssue) {
  const { client, connection, convert, signal } = account;
  const project = await projectId(client, issue.project, signal);
  const name = truncate(sanitizeText(issue.title).replace(/\s+/g, " "), maxTitleLength);
  const body = { name, description_html: (await htmlOf(convert, issue.body)) || "<p></p>" };
  const path = { slug: client.slug, project };
  const { data } = await client.write({ route: `POST ${base}/issues/`, path, body, schema: shapes.createdIssue, signal });
  const id = valueAt(data, "state");
  // The issue exists, even if its state has no name.
  const states = await statesOf(client, project, signal).catch(() => []);
  const state = states.find((one) => one.id === id);
  const created = { ...data, project, ...(state ? { state } : {}) };
  const activity = { actor: { id: valueAt(data, "created_by") ?? null } };
  const payload = JSON.parse(JSON.stringify({ event: "issue", action: "created", data: created, activity })) as Json;
  const url = `${webUrlOf(connection)}/${client.slug}/projects/${project}/issues/${data.id}`;
  return { key: data.id, url, event: { headers: { "x-delta-event": "issue" }, payload } };
}

/** Moves the issue to the first completed state. A deleted issue counts as closed. */
export async function closeIssue(account: Account, issue: { project: string; key: string }): Promise<void> {
  const { client, signal } = account;
  const address = addressOf(issue.key, issue.project);
  const project = await projectId(client, issue.project, signal);
  const last = (await statesOf(client, project, signal)).find((one) => one.group === "completed");
  if (!last)
    throw new PluginError("conflict", `project ${project} has no state in the group "completed", so its issues cannot be closed`);
  const path = { slug: client.slug, project, issue: address.issue };
  const body = { state: last.id };
  const request = { route: `PATCH ${base}/issues/{issue}/`, path, body, schema: shapes.anyObject, signal };
  await client.write(request).catch(ifCode("not_found", null));
}
