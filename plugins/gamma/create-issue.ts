import {
  type HttpClient,
  ifCode,
  type Json,
  type NewIssue,
  PluginError,
  sanitizeText,
  timestampAt,
  truncate,
  valueAt,
  writeShorter,
} from "@signalbox/sdk";
import { keyOf } from "./address.ts";
import { bodyOf } from "./bodies.ts";
import type { Account } from "./comments.ts";
import { webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

const maxTitleLength = 255;
const visibleFields = "summary,description,issuetype,priority,status,project,creator,reporter,assignee,labels,created,updated";

/** Creates an issue and returns its creation as the webhook will report it. */
export async function createIssue({ client, connection, convert, signal }: Account, issue: NewIssue) {
  const project = issue.project.trim().toUpperCase();
  if (!/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(project)) {
    const shownProject = JSON.stringify(project.slice(0, 200));
    throw new PluginError("invalid_input", `project: must be the key of a project such as "PROJ"; it is ${shownProject}`);
  }
  const issuetype = await typeFor(client, project, signal);
  const summary = truncate(sanitizeText(issue.title).replace(/\s+/g, " "), maxTitleLength);
  const { key } = await writeShorter(issue.body, async (shown) => {
    const fields = { project: { key: project }, issuetype, summary, description: await bodyOf(convert, shown, connection) };
    return (await client.write({ route: "POST /issue", body: { fields }, schema: shapes.createdIssue, signal })).data;
  });
  const url = `${webUrlOf(connection)}/browse/${key}`;
  const request = {
    route: "GET /issue/{key}",
    path: { key },
    query: { fields: visibleFields },
    schema: shapes.issueFields,
    signal,
  };
  // The issue exists, even if it cannot be read.
  const sent = { key, fields: { project: { key: project }, summary } };
  const data = await client.read(request).then(
    (answer) => answer.data,
    () => sent,
  );
  const timestamp = Date.parse(timestampAt(data, "fields", "created") ?? "") || Date.now();
  const user = valueAt(data, "fields", "creator") ?? null;
  const content = { timestamp, webhookEvent: "jira:issue_created", issue_event_type_name: "issue_created", user, issue: data };
  const payload = JSON.parse(JSON.stringify(content)) as Json;
  return { key, url, event: { headers: {}, payload } };
}

/** The type "Task" if the project has it or cannot be read, else the first type that is not a sub-task. */
async function typeFor(client: HttpClient, key: string, signal: AbortSignal): Promise<{ id: string } | { name: string }> {
  const request = { route: "GET /project/{key}", path: { key }, schema: shapes.project, signal };
  const data = await client.read(request).then((answer) => answer.data, ifCode("not_found", null));
  if (data === null) return { name: "Task" };
  const types = data.issueTypes.filter((one) => one.subtask !== true);
  const found = types.find(({ name }) => name.toLowerCase() === "task") ?? types[0];
  if (found) return { id: found.id };
  throw new PluginError("invalid_input", `project ${key} has no issue type that this account can create`);
}

/** Takes the first transition to a done status. A deleted or already done issue counts as closed. */
export async function closeIssue(account: Account, { project, key }: { project: string; key: string }): Promise<void> {
  await moveToDone(account, { issue: keyOf(key, project) }).catch(ifCode("not_found", null));
}

async function moveToDone({ client, signal }: Account, path: { issue: string }): Promise<void> {
  const request = { route: "GET /issue/{issue}", path, query: { fields: "status" }, schema: shapes.issueFields, signal };
  if (ends(valueAt((await client.read(request)).data, "fields", "status"))) return;
  const route = "/issue/{issue}/transitions";
  const { data } = await client.read({ route: `GET ${route}`, path, schema: shapes.transitions, signal });
  const found = data.transitions.find(({ to }) => ends(to));
  if (!found)
    throw new PluginError(
      "conflict",
      `${path.issue} cannot be closed: its workflow has no transition from its current status to a done status`,
    );
  const body = { transition: { id: found.id } };
  await client.write({ route: `POST ${route}`, path, body, schema: shapes.ignoredBody, signal });
}

const ends = (status: unknown): boolean => valueAt(status, "statusCategory", "key") === "done";
