import { ifCode, type Json, type NewIssue, PluginError, type SubjectDetails, sanitizeText, truncate } from "@signalbox/sdk";
import { z } from "zod";
import { issueOf, teamOf } from "./address.ts";
import { type Account, idOf } from "./comments.ts";
import * as shapes from "./shapes.ts";

const maxTitleLength = 255;

export async function readIssue({ client, signal }: Account, id: string): Promise<shapes.Issue> {
  const document = `query ReadIssue($id: String!) { issue(id: $id) { ${shapes.issueFields} } }`;
  return (await client.query({ document, variables: { id }, data: z.object({ issue: shapes.issue }) }, signal)).issue;
}

export async function describe(account: Account, id: string): Promise<SubjectDetails> {
  const issue = await readIssue(account, id);
  return {
    title: sanitizeText(issue.title),
    state: issue.state.name,
    labels: issue.labels.nodes.map(({ name }) => name),
    author: issue.creator?.displayName ?? issue.creator?.name ?? null,
    url: issue.url,
  };
}

/** Creates an issue whose id is derived from `key`, so that `findIssue` finds it. */
export async function createIssue({ client, signal }: Account, issue: NewIssue, key: string): Promise<shapes.Issue> {
  const title = truncate(sanitizeText(issue.title).replace(/\s+/g, " "), maxTitleLength);
  const teamId = await teamIdOf({ client, signal }, teamOf(issue.project));
  const input = { id: idOf(key), teamId, title, description: sanitizeText(issue.body) };
  const document = `mutation CreateIssue($input: IssueCreateInput!) {
    issueCreate(input: $input) { success issue { ${shapes.issueFields} } }
  }`;
  const data = z.object({ issueCreate: shapes.done.extend({ issue: shapes.issue }) });
  try {
    return (await client.mutate({ document, variables: { input }, data }, signal)).issueCreate.issue;
  } catch (error) {
    // The id is taken: an earlier request with this key succeeded.
    const refused = error instanceof PluginError && (error.code === "conflict" || error.code === "invalid_input");
    const existing = refused ? await findIssue({ client, signal }, key) : null;
    if (!existing) throw error;
    return existing;
  }
}

export async function findIssue({ client, signal }: Account, key: string): Promise<shapes.Issue | null> {
  const document = `query IssueById($id: ID!) {
    issues(first: 1, filter: { id: { eq: $id } }) { nodes { ${shapes.issueFields} } }
  }`;
  const data = z.object({ issues: shapes.issues });
  return (await client.query({ document, variables: { id: idOf(key) }, data }, signal)).issues.nodes[0] ?? null;
}

/** The creation of an issue as a webhook would deliver it. */
export function createdEvent(issue: shapes.Issue): { headers: Record<string, string>; payload: Json } {
  const { labels, ...rest } = issue;
  const data = { ...rest, labels: labels.nodes, labelIds: labels.nodes.map(({ id }) => id) };
  const payload = {
    action: "create",
    type: "Issue",
    actor: actorOf(issue.creator),
    createdAt: issue.createdAt,
    data,
    url: issue.url,
  };
  return { headers: { "linear-event": "Issue" }, payload: JSON.parse(JSON.stringify(payload)) as Json };
}

export const actorOf = (person: z.output<typeof shapes.person> | null | undefined) =>
  person ? { id: person.id, type: "user", name: person.displayName ?? person.name ?? null } : null;

/** Moves the issue to the first completed state of its team. A deleted issue counts as closed. */
export async function closeIssue(account: Account, { project, key }: { project: string; key: string }): Promise<void> {
  const lastState = (states: readonly State[]) => {
    const last = states.filter(({ type }) => type === "completed").toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0))[0];
    if (last) return last;
    throw new PluginError("conflict", `team ${project} has no completed state, so its issues cannot be closed`);
  };
  await moveIssue(account, issueOf(key, project), lastState).catch(ifCode("not_found", null));
}

type State = z.output<typeof shapes.states>["nodes"][number];

/** Sets the state that `choose` picks of those of the issue's team. */
export async function moveIssue(
  account: Account,
  id: string,
  choose: (states: readonly State[]) => State,
): Promise<shapes.Issue> {
  const document = `query StatesOfIssue($id: String!) {
    issue(id: $id) { team { states(first: 100) { nodes { id name type position } } } }
  }`;
  const data = z.object({ issue: z.object({ team: z.object({ states: shapes.states }) }) });
  const { issue } = await account.client.query({ document, variables: { id }, data }, account.signal);
  return updateIssue(account, id, { stateId: choose(issue.team.states.nodes).id });
}

/** Finds a state by its name, case-insensitively. Throws `invalid_input` with the existing names. */
export const stateNamed =
  (wanted: string) =>
  (states: readonly State[]): State => {
    const same = states.find(({ name }) => name.toLowerCase() === wanted.trim().toLowerCase());
    if (same) return same;
    const names = states.map(({ name }) => JSON.stringify(name)).join(", ");
    throw new PluginError("invalid_input", `state: there is no ${JSON.stringify(wanted.slice(0, 100))}; available: ${names}`);
  };

export async function updateIssue({ client, signal }: Account, id: string, input: object): Promise<shapes.Issue> {
  const document = `mutation UpdateIssue($id: String!, $input: IssueUpdateInput!) {
    issueUpdate(id: $id, input: $input) { success issue { ${shapes.issueFields} } }
  }`;
  const data = z.object({ issueUpdate: shapes.done.extend({ issue: shapes.issue }) });
  return (await client.mutate({ document, variables: { id, input }, data }, signal)).issueUpdate.issue;
}

export async function searchIssues(
  { client, signal }: Account,
  { term, team, limit }: { term: string; team: string; limit: number },
): Promise<readonly shapes.Issue[]> {
  const document = `query SearchIssues($term: String!, $filter: IssueFilter, $first: Int) {
    searchIssues(term: $term, filter: $filter, first: $first) { nodes { ${shapes.issueFields} } }
  }`;
  const variables = { term, first: limit, filter: { team: { key: { eq: team } } } };
  return (await client.query({ document, variables, data: z.object({ searchIssues: shapes.issues }) }, signal)).searchIssues
    .nodes;
}

/** Ids of the labels with these names that an issue of the team can have. Throws `invalid_input` if a label does not exist. */
export async function labelIds({ client, signal }: Account, team: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const document = `query LabelsByName($filter: IssueLabelFilter) {
    issueLabels(first: 100, filter: $filter) { nodes { id name } }
  }`;
  const ofTeam = { or: [{ team: { key: { eq: team } } }, { team: { null: true } }] };
  const variables = { filter: { and: [{ name: { in: names } }, ofTeam] } };
  const data = z.object({ issueLabels: shapes.labels });
  const { nodes } = (await client.query({ document, variables, data }, signal)).issueLabels;
  return names.map((name) => {
    const state = nodes.find((one) => one.name === name);
    if (state) return state.id;
    throw new PluginError("invalid_input", `labels: team ${team} has no label ${JSON.stringify(name.slice(0, 100))}`);
  });
}

export async function teamIdOf({ client, signal }: Account, key: string): Promise<string> {
  const document = "query TeamByKey($key: String!) { teams(first: 1, filter: { key: { eq: $key } }) { nodes { id key name } } }";
  const data = z.object({ teams: z.object({ nodes: z.array(shapes.team) }) });
  const team = (await client.query({ document, variables: { key }, data }, signal)).teams.nodes[0];
  if (!team) throw new PluginError("not_found", `there is no team ${key}, or the token cannot see it`);
  return team.id;
}
