import { PluginError } from "@signalbox/sdk";
import type { Address } from "./address.ts";
import type { Account } from "./comments.ts";
import * as shapes from "./shapes.ts";

/** Projects of a workspace that are looked through. */
const mostProjects = 200;

/** The project of an issue. Some webhooks do not name it, and the platform has no address of an issue without it. */
export async function projectOf({ client, signal }: Account, { project, issue }: Address): Promise<string> {
  if (project !== null) return project;
  const { slug } = client;
  const query = { per_page: 100 };
  const asked = {
    route: "GET /workspaces/{slug}/projects/",
    path: { slug },
    query,
    shape: shapes.listOf(shapes.project),
    signal,
  };
  const { data } = await client.read(asked);
  for (const { id } of data.results.slice(0, mostProjects)) {
    const route = "GET /workspaces/{slug}/projects/{project}/issues/{issue}/";
    try {
      await client.read({ route, path: { slug, project: id, issue }, shape: shapes.issue, signal });
      return id;
    } catch (error) {
      if (!(error instanceof PluginError) || !["not_found", "unauthorized", "invalid_input"].includes(error.code)) throw error;
    }
  }
  throw new PluginError(
    "not_found",
    `delta has no issue ${issue} in any project of the workspace ${slug} that this key may read`,
  );
}
