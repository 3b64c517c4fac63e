import { type EventAuthor, PluginError } from "@signalbox/sdk";
import { cacheFor } from "./cache.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

/** Plane's roles: 20 administers the workspace, 15 is a member, 5 a guest, who sees what is shared with it. */
const roles: ReadonlyMap<number, EventAuthor["standing"]> = new Map([
  [20, "owner"],
  [15, "member"],
  [5, "contributor"],
]);

interface Member {
  readonly id: string;
  readonly name: string;
  readonly standing: EventAuthor["standing"];
}

/** The members of the workspace. Empty on servers without this endpoint, and for keys that may not read it. */
export const membersOf = cacheFor(async (client: Client, signal: AbortSignal): Promise<readonly Member[]> => {
  const route = "GET /workspaces/{slug}/members/";
  try {
    const { data } = await client.read({ route, path: { slug: client.slug }, schema: shapes.lists.members, signal });
    return data.results.map(({ id, display_name, first_name, role }) => ({
      id,
      name: display_name || first_name || "",
      standing: roles.get(role ?? 0) ?? "unknown",
    }));
  } catch (error) {
    if (error instanceof PluginError && (error.code === "not_found" || error.code === "unauthorized")) return [];
    throw error;
  }
});

/** The standing of an account in the workspace; `unknown` if the platform does not report it. */
export async function standingOf(client: Client, id: string | null, signal: AbortSignal): Promise<EventAuthor["standing"]> {
  const members = id === null ? [] : await membersOf(client, signal);
  return members.find((one) => one.id === id)?.standing ?? "unknown";
}
