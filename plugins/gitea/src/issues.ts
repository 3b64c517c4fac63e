import { ifCode, type Json, type NewIssue, PluginError, type SubjectDetails, sanitizeText, truncate } from "@signalbox/sdk";
import { z } from "zod";
import { type Place, placeOf, repositoryOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import type { GiteaCall } from "./comments.ts";
import * as shapes from "./shapes.ts";

const one = "/repos/{owner}/{repo}/issues/{issue}";
const maxTitleLength = 255;

export async function readIssue(client: ClientOf, path: Place, { connection, signal }: GiteaCall): Promise<shapes.Issue> {
  return (await client(connection).read({ route: `GET ${one}`, path: { ...path }, schema: shapes.issue, signal })).data;
}

export async function describe(client: ClientOf, path: Place, call: GiteaCall): Promise<SubjectDetails> {
  const { title, state, labels, user, html_url } = await readIssue(client, path, call);
  return { title: sanitizeText(title), state, labels: namesOf(labels), author: user?.login ?? null, url: html_url };
}

export const namesOf = (labels: shapes.Issue["labels"]): string[] => (labels ?? []).map(({ name }) => name);

export async function changeIssue(
  client: ClientOf,
  path: Place,
  body: object,
  { connection, signal }: GiteaCall,
): Promise<shapes.Issue> {
  return (await client(connection).write({ route: `PATCH ${one}`, path: { ...path }, body, schema: shapes.issue, signal })).data;
}

/** Creates an issue and returns its creation as the webhook will report it. */
export async function createIssue(client: ClientOf, issue: NewIssue, { connection, signal }: GiteaCall) {
  const path = repositoryOf(issue.project);
  const title = truncate(sanitizeText(issue.title).replace(/\s+/g, " "), maxTitleLength);
  const body = { title, body: sanitizeText(issue.body) };
  const request = { route: "POST /repos/{owner}/{repo}/issues", path, body, schema: shapes.issue, signal };
  const { data } = await client(connection).write(request);
  return { key: `${issue.project}#${data.number}`, url: data.html_url, event: eventOf("opened", data, issue.project) };
}

/** An issue's event as a webhook would deliver it. */
export function eventOf(action: string, item: shapes.Issue, project: string) {
  const kind = item.pull_request ? "pull_request" : "issue";
  const payload = { action, number: item.number, [kind]: item, repository: { full_name: project }, sender: item.user };
  const headers = { "x-gitea-event": item.pull_request ? "pull_request" : "issues" };
  return { headers, payload: JSON.parse(JSON.stringify(payload)) as Json };
}

/** A deleted issue counts as closed. */
export async function closeIssue(client: ClientOf, issue: { project: string; key: string }, call: GiteaCall): Promise<void> {
  await changeIssue(client, placeOf(issue.key, issue.project), { state: "closed" }, call).catch(ifCode("not_found", null));
}

export async function searchIssues(
  client: ClientOf,
  { project, query, state, limit }: { project: string; query: string; state: string; limit: number },
  { connection, signal }: GiteaCall,
): Promise<shapes.Issue[]> {
  const request = {
    route: "GET /repos/{owner}/{repo}/issues",
    path: repositoryOf(project),
    schema: z.array(shapes.issue),
    signal,
  };
  return (await client(connection).read({ ...request, query: { q: query, state, limit } })).data;
}

/** Adds and removes labels by their names. Those to add must exist in the repository or its organization. */
export async function changeLabels(
  client: ClientOf,
  path: Place,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
  call: GiteaCall,
): Promise<shapes.Issue> {
  const { connection, signal } = call;
  const request = { path: { ...path }, schema: shapes.ignoredBody, signal };
  const before = await readIssue(client, path, call);
  const missing = add.filter((name) => !namesOf(before.labels).includes(name));
  const ids = missing.length > 0 ? await labelIds(client, path, missing, call) : [];
  if (ids.length > 0) await client(connection).write({ ...request, route: `POST ${one}/labels`, body: { labels: ids } });
  for (const { id } of (before.labels ?? []).filter(({ name }) => remove.includes(name)))
    await client(connection).write({ ...request, path: { ...path, id }, route: `DELETE ${one}/labels/{id}` });
  return readIssue(client, path, call);
}

async function labelIds(client: ClientOf, { owner, repo }: Place, names: readonly string[], call: GiteaCall): Promise<number[]> {
  const { connection, signal } = call;
  const request = { query: { limit: 50 }, schema: z.array(shapes.label), signal };
  const own = await client(connection).read({ ...request, route: "GET /repos/{owner}/{repo}/labels", path: { owner, repo } });
  // It is not found if the owner is a person.
  const ofOrganization = () =>
    client(connection)
      .read({ ...request, route: "GET /orgs/{owner}/labels", path: { owner } })
      .catch(ifCode("not_found", { data: [] }));
  const isKnown = (name: string) => own.data.some((label) => label.name === name);
  const all = names.every(isKnown) ? own.data : [...own.data, ...(await ofOrganization()).data];
  return names.map((name) => {
    const found = all.find((label) => label.name === name);
    if (found) return found.id;
    throw new PluginError("invalid_input", `add: the repository has no label ${JSON.stringify(name.slice(0, 100))}`);
  });
}
