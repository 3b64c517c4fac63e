import { type SubjectDetails, sanitizeText } from "@signalbox/sdk";
import { type Address, isId } from "./address.ts";
import type { Account } from "./client.ts";
import { membersOf } from "./members.ts";
import { labelsOf, projectOf, statesOf } from "./projects.ts";
import { webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Reads an issue. Its webhooks contain ids instead of the names of states, labels and people, and no URL. */
export async function describe(account: Account, address: Address, text: string): Promise<SubjectDetails> {
  const { client, connection, signal } = account;
  const project = await projectOf(account, address);
  const path = { slug: client.slug, project, issue: address.issue };
  const route = "GET /workspaces/{slug}/projects/{project}/issues/{issue}/";
  const item = (await client.read({ route, path, schema: shapes.describedIssue, signal })).data;
  const ids = new Set(text.slice(0, 200_000).match(uuid));
  const names = new Map<string, string>();
  const learn = (rows: readonly { readonly id: string; readonly name: string }[]) => {
    for (const { id, name } of rows) names.set(id, sanitizeText(name));
  };
  learn(await statesOf(client, project, signal));
  if ((item.labels ?? []).length > 0 || [...ids].some((id) => !names.has(id))) learn(await labelsOf(client, project, signal));
  if (item.created_by || [...ids].some((id) => !names.has(id))) learn(await membersOf(client, signal));
  const nameOf = (one: string | { id: string; name?: string | null | undefined }) =>
    typeof one === "string" ? (names.get(one) ?? null) : (one.name ?? names.get(one.id) ?? null);
  return {
    ...(address.project === null && isId(project) && { subject: { project, issue: address.issue } }),
    title: sanitizeText(item.name),
    state: item.state ? nameOf(item.state) : null,
    labels: (item.labels ?? []).flatMap((label) => nameOf(label) ?? []),
    author: item.created_by ? (names.get(item.created_by) ?? null) : null,
    url: `${webUrlOf(connection)}/${client.slug}/projects/${project}/issues/${address.issue}`,
    names: Object.fromEntries([...names].filter(([id]) => ids.has(id))),
  };
}
