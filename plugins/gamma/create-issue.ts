import { at, clean, cut, type HttpClient, type Json, type NewTrackerIssue, PluginError, timeAt } from "@signalbox/sdk";
import { keyOf } from "./address.ts";
import { bodyOf } from "./bodies.ts";
import { type Settings, webOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

interface Account {
  readonly client: HttpClient;
  readonly connection: Settings;
  readonly signal: AbortSignal;
}

const longestTitle = 255;
const shown = "summary,description,issuetype,priority,status,project,creator,reporter,assignee,labels,created,updated";

/** Makes an issue, and says it as the webhook will. */
export async function createIssue({ client, connection, signal }: Account, issue: NewTrackerIssue) {
  const project = issue.project.trim().toUpperCase();
  if (!/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(project)) {
    const told = JSON.stringify(project.slice(0, 200));
    throw new PluginError("invalid_input", `project must be the key of a project such as "PROJ"; it is ${told}`);
  }
  const issuetype = await typeFor(client, project, signal);
  const summary = cut(clean(issue.title).replace(/\s+/g, " "), longestTitle);
  const fields = { project: { key: project }, issuetype, summary, description: bodyOf(issue.body, connection) };
  const { key } = (await client.write({ route: "POST /issue", body: { fields }, shape: shapes.made, signal })).data;
  const url = `${webOf(connection)}/browse/${key}`;
  const read = { route: "GET /issue/{key}", path: { key }, query: { fields: shown }, shape: shapes.told, signal };
  const { data } = await client.read(read);
  const timestamp = Date.parse(timeAt(data, "fields", "created") ?? "") || Date.now();
  const user = at(data, "fields", "creator") ?? null;
  const told = { timestamp, webhookEvent: "jira:issue_created", issue_event_type_name: "issue_created", user, issue: data };
  const payload = JSON.parse(JSON.stringify(told)) as Json;
  return { key, url, event: { headers: {}, payload } };
}

/** A task where the project has such; never a part of another issue. */
async function typeFor(client: HttpClient, key: string, signal: AbortSignal): Promise<{ id: string }> {
  const { data } = await client.read({ route: "GET /project/{key}", path: { key }, shape: shapes.project, signal });
  const types = data.issueTypes.filter((one) => one.subtask !== true);
  const found = types.find(({ name }) => name.toLowerCase() === "task") ?? types[0];
  if (found) return { id: found.id };
  throw new PluginError("invalid_input", `the project ${key} has no type of issue that this account may make`);
}

/** Takes the first transition that ends an issue. One that is gone, or ended already, is closed enough. */
export async function closeIssue({ client, signal }: Account, { project, key }: { project: string; key: string }): Promise<void> {
  const issue = keyOf(key, project);
  const route = "/issue/{issue}/transitions";
  try {
    const read = { route: "GET /issue/{issue}", path: { issue }, query: { fields: "status" }, shape: shapes.told, signal };
    if (ends(at((await client.read(read)).data, "fields", "status"))) return;
    const { data } = await client.read({ route: `GET ${route}`, path: { issue }, shape: shapes.transitions, signal });
    const found = data.transitions.find(({ to }) => ends(to));
    if (!found) throw new PluginError("conflict", `${issue} has no transition that ends it: its workflow offers none now`);
    await client.write({
      route: `POST ${route}`,
      path: { issue },
      body: { transition: { id: found.id } },
      shape: shapes.nothing,
      signal,
    });
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
  }
}

const ends = (status: unknown): boolean => at(status, "statusCategory", "key") === "done";
