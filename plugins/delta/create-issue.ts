import { at, clean, type Json, type NewTrackerIssue, PluginError } from "@signalbox/sdk";
import { addressOf, isId } from "./address.ts";
import type { Client } from "./client.ts";
import { markdownToHtml } from "./html.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

interface Account {
  readonly client: Client;
  readonly connection: Settings;
  readonly signal: AbortSignal;
}

const base = "/workspaces/{slug}/projects/{project}";
const longestTitle = 255;

/** Makes an issue, and says it as the webhook will. */
export async function createIssue(account: Account, issue: NewTrackerIssue) {
  const { client, connection, signal } = account;
  const project = await projectId(client, issue.project, signal);
  const name = clean(issue.title).replace(/\s+/g, " ").slice(0, longestTitle);
  const body = { name, description_html: markdownToHtml(issue.body) || "<p></p>" };
  const path = { slug: client.slug, project };
  const { data } = await client.write({ route: `POST ${base}/issues/`, path, body, shape: shapes.made, signal });
  const id = at(data, "state");
  const state = (await states(account, project)).find((one) => one.id === id);
  const told = { ...data, project, ...(state ? { state } : {}) };
  const activity = { actor: { id: at(data, "created_by") ?? null } };
  const payload = JSON.parse(JSON.stringify({ event: "issue", action: "created", data: told, activity })) as Json;
  const url = `${webOf(connection)}/${client.slug}/projects/${project}/issues/${data.id}`;
  return { key: data.id, url, event: { headers: { "x-delta-event": "issue" }, payload } };
}

/** Moves the issue to the first state that ends it. One that is gone is closed enough. */
export async function closeIssue(account: Account, issue: { project: string; key: string }): Promise<void> {
  const { client, signal } = account;
  const address = addressOf(issue.key, issue.project);
  const project = await projectId(client, issue.project, signal);
  const last = (await states(account, project)).find((one) => one.group === "completed");
  if (!last) throw new PluginError("conflict", `the project ${project} has no state that ends an issue`);
  const path = { slug: client.slug, project, issue: address.issue };
  const body = { state: last.id };
  try {
    await client.write({ route: `PATCH ${base}/issues/{issue}/`, path, body, shape: shapes.issue, signal });
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
  }
}

async function states({ client, signal }: Account, project: string) {
  const path = { slug: client.slug, project };
  const shape = shapes.listOf(shapes.state);
  return (await client.read({ route: `GET ${base}/states/`, path, query: { per_page: 100 }, shape, signal })).data.results;
}

/** The id of a project, which people know by its identifier or its name. */
export async function projectId(client: Client, given: string, signal: AbortSignal): Promise<string> {
  const name = given.trim();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name)) return name;
  const path = { slug: client.slug };
  const query = { per_page: 100 };
  const shape = shapes.listOf(shapes.project);
  const { results } = (await client.read({ route: "GET /workspaces/{slug}/projects/", path, query, shape, signal })).data;
  const same = (value: string | null | undefined) => value?.toLowerCase() === name.toLowerCase();
  const found = results.find((one) => one.id === name || same(one.identifier)) ?? results.find((one) => same(one.name));
  if (found && isId(found.id)) return found.id;
  const there = results.slice(0, 20).map((one) => one.identifier ?? one.id);
  throw new PluginError(
    "not_found",
    `delta has no project ${JSON.stringify(name.slice(0, 200))} that this key may read; there are ${there.join(", ") || "none"}`,
  );
}
