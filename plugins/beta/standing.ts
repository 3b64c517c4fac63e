import { type EventAuthor, type HttpClient, PluginError, type StandingQuery } from "@signalbox/sdk";
import { isGroup, isProject } from "./address.ts";
import * as shapes from "./shapes.ts";

/** Access levels of members, including those inherited from groups, highest first. */
const levels: readonly (readonly [number, EventAuthor["standing"]])[] = [
  [50, "owner"],
  // Developers and maintainers write code; reporters and planners manage issues; guests may only write new ones.
  [30, "member"],
  [15, "collaborator"],
  [5, "contributor"],
];

/**
 * The standing of an account in a project or group; `unknown` if the payload contains no id of the account or the token may
 * not look it up.
 */
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
  // The API answers the same if the token may not see the members or the project. Only if it may see them is the account known
  // not to be a member.
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
