import { type EventAuthor, PluginError, type StandingQuery } from "@signalbox/sdk";
import { repositoryOf } from "./address.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

/** May change issues: they are of the repository. */
const memberPermissions = new Set(["admin", "maintain", "write", "triage"]);

/**
 * The standing of an account, by its permission in a repository. Everyone can read a public repository, organisation members
 * included, so read permission alone means `unknown`. It is also `unknown` if the token may not look up permissions.
 */
export async function standingOf(
  client: Client,
  { project, author }: StandingQuery,
  signal: AbortSignal,
): Promise<EventAuthor["standing"]> {
  if (author.name === null || author.name.includes("[")) return "unknown";
  const { owner, repo } = repositoryOf(project);
  if (author.name.toLowerCase() === owner.toLowerCase()) return "owner";
  const route = "GET /repos/{owner}/{repo}/collaborators/{username}/permission";
  try {
    const { data } = await client.read(route, { owner, repo, username: author.name }, shapes.permission, signal);
    return memberPermissions.has(data.role_name ?? data.permission) || memberPermissions.has(data.permission)
      ? "collaborator"
      : "unknown";
  } catch (error) {
    if (error instanceof PluginError && (error.code === "unauthorized" || error.code === "not_found")) return "unknown";
    throw error;
  }
}
