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
  const route = `GET /${of}/{project}/members/all`;
  const found = await readable(() =>
    client.read({ route: `${route}/{user}`, path: { project, user: author.id as string }, schema: shapes.member, signal }),
  );
  if (found) return levels.find(([level]) => found.data.access_level >= level)?.[1] ?? "none";
  // The same answer comes where the token may not see the members, or not the project: who is no member is known only if it may.
  const query = { per_page: 1 };
  return (await readable(() => client.read({ route, path: { project }, query, schema: shapes.members, signal })))
    ? "none"
    : "unknown";
}

/** The answer; `null` where there is none for this token. */
async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PluginError && (error.code === "not_found" || error.code === "unauthorized")) return null;
    throw error;
  }
}
