import { type EventAuthor, type HttpClient, PluginError, type StandingQuery } from "@signalbox/sdk";
import { isGroup, isProject } from "./address.ts";
import * as shapes from "./shapes.ts";

/** Access levels of members, those inherited from groups included, from the highest. */
const levels: readonly (readonly [number, EventAuthor["standing"]])[] = [
  [50, "owner"],
  // Developers and maintainers write code; reporters and planners manage issues; guests may only write new ones.
  [30, "member"],
  [15, "collaborator"],
  [5, "contributor"],
];

/** What an account is in a project or group; `unknown` where the payload had no id of it, or the token may not ask. */
export async function standingOf(
  client: HttpClient,
  { project, author }: StandingQuery,
  signal: AbortSignal,
): Promise<EventAuthor["standing"]> {
  if (author.id === null || !/^\d{1,15}$/.test(author.id)) return "unknown";
  const of = isProject(project) ? "projects" : "groups";
  if (of === "groups" && !isGroup(project)) return "unknown";
  const route = `GET /${of}/{project}/members/all/{user}`;
  try {
    const { data } = await client.read({ route, path: { project, user: author.id }, schema: shapes.member, signal });
    return levels.find(([level]) => data.access_level >= level)?.[1] ?? "none";
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    // Also where the project itself is hidden from the token: then it cannot answer there either.
    if (error.code === "not_found") return "none";
    if (error.code === "unauthorized") return "unknown";
    throw error;
  }
}
