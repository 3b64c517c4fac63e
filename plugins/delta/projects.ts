import { PluginError } from "@signalbox/sdk";
import { type Address, isId } from "./address.ts";
import { cacheFor } from "./cache.ts";
import type { Account, Client } from "./client.ts";
import * as shapes from "./shapes.ts";

/** The project of an issue. Some webhooks do not name it, but every URL of an issue needs it. */
export async function projectOf({ client, signal }: Account, { project, issue }: Address): Promise<string> {
  if (project !== null) return project;
  const { slug } = client;
  for (const { id } of await projectsOf(client, signal)) {
    const route = "GET /workspaces/{slug}/projects/{project}/issues/{issue}/";
    try {
      await client.read({ route, path: { slug, project: id, issue }, schema: shapes.issue, signal });
      return id;
    } catch (error) {
      if (!(error instanceof PluginError) || !["not_found", "unauthorized", "invalid_input"].includes(error.code)) throw error;
    }
  }
  throw new PluginError("not_found", `delta has no issue ${issue} in the projects of workspace ${slug} that this key can read`);
}

/** The id of a project given by id, identifier or name. */
export async function projectId(client: Client, identifier: string, signal: AbortSignal): Promise<string> {
  const name = identifier.trim();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name)) return name;
  const projects = await projectsOf(client, signal);
  const same = (value: string | null | undefined) => value?.toLowerCase() === name.toLowerCase();
  const found = projects.find((one) => one.id === name || same(one.identifier)) ?? projects.find((one) => same(one.name));
  if (found && isId(found.id)) return found.id;
  const available = projects.slice(0, 20).map((one) => one.identifier ?? one.id);
  throw new PluginError(
    "not_found",
    `delta has no project ${JSON.stringify(name.slice(0, 200))} that this key can read; available: ${available.join(", ") || "none"}`,
  );
}

/** The first hundred projects of the workspace. */
async function projectsOf(client: Client, signal: AbortSignal) {
  const route = "GET /workspaces/{slug}/projects/";
  const path = { slug: client.slug };
  return (await client.read({ route, path, query: { per_page: 100 }, schema: shapes.lists.projects, signal })).data.results;
}

/** The states of a project; lists of issues contain only their ids. */
export const statesOf = cacheFor(async (client: Client, project: string, signal: AbortSignal) => {
  const route = "GET /workspaces/{slug}/projects/{project}/states/";
  const path = { slug: client.slug, project };
  return (await client.read({ route, path, query: { per_page: 100 }, schema: shapes.lists.states, signal })).data.results;
});

/** The first hundred labels of a project. */
export const labelsOf = cacheFor(async (client: Client, project: string, signal: AbortSignal) => {
  const route = "GET /workspaces/{slug}/projects/{project}/labels/";
  const path = { slug: client.slug, project };
  return (await client.read({ route, path, query: { per_page: 100 }, schema: shapes.lists.labels, signal })).data.results;
});

/**
 * Visitors of a public board can read descriptions, but not internal comments. Throws `unsupported` if the project has a
 * public board, or if this is unknown.
 */
export async function requireUnpublished(account: Account, project: string): Promise<void> {
  if (!(await mayBePublished(account, project))) return;
  throw new PluginError("unsupported", "the project may have a public board, which shows descriptions but no internal comments");
}

/** Whether a project has a public board, or does not say. */
export async function mayBePublished({ client, signal }: Account, project: string): Promise<boolean> {
  const route = "GET /workspaces/{slug}/projects/{project}/";
  const { data } = await client.read({ route, path: { slug: client.slug, project }, schema: shapes.published, signal });
  return data.is_deployed !== false;
}
