import { type EventAuthor, PluginError, type StandingQuery, stringAt, valueAt } from "@signalbox/sdk";
import { z } from "zod";
import { repositoryOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import type { GiteaCall } from "./comments.ts";
import * as shapes from "./shapes.ts";

/** Accounts of the server's own features. Other bots are ordinary users for the API. */
const bots = new Set(["forgejo-actions", "gitea-actions", "[bot]"]);

export function authorOf(payload: unknown): EventAuthor | null {
  const sender = valueAt(payload, "sender") ?? valueAt(payload, "pusher");
  const name = stringAt(sender, ["login"], 200) ?? stringAt(sender, ["username"], 200);
  if (name === null) return null;
  const id = valueAt(sender, "id");
  const kind =
    bots.has(name.toLowerCase()) || /\[bot\]$/i.test(name) ? "bot" : name.toLowerCase() === "ghost" ? "unknown" : "human";
  return { id: Number.isSafeInteger(id) && (id as number) > 0 ? String(id) : null, name, kind, standing: "unknown" };
}

const permission = z.looseObject({ permission: z.string() });

/**
 * The standing of an account in a repository. Everyone can read a public repository, so read permission alone does not give a
 * standing there.
 */
export async function standingOf(
  client: ClientOf,
  { project, author }: StandingQuery,
  { connection, signal }: GiteaCall,
): Promise<EventAuthor["standing"]> {
  if (author.name === null || !/^[\w.-]{1,100}$/.test(author.name)) return "unknown";
  const path = { ...repositoryOf(project), user: author.name };
  const api = client(connection);
  try {
    const route = "GET /repos/{owner}/{repo}/collaborators/{user}/permission";
    const { data } = await api.read({ route, path, schema: permission, signal });
    if (data.permission === "owner") return "owner";
    if (data.permission === "admin" || data.permission === "write") return "member";
    if (data.permission !== "read") return "none";
    const repository = await api.read({ route: "GET /repos/{owner}/{repo}", path, schema: shapes.repository, signal });
    return repository.data.private ? "collaborator" : "none";
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    if (error.code === "not_found") return "none";
    // Servers let only administrators of the repository ask for others.
    if (error.code === "unauthorized") return "unknown";
    throw error;
  }
}
