import { type HttpClient, PluginError, valueAt } from "@signalbox/sdk";
import { z } from "zod";
import * as shapes from "./shapes.ts";

interface TransitionResult {
  readonly issue: string;
  readonly transition: string;
  readonly status: string | null;
}
const same = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase();

/** Moves an issue by the id or name of a transition, or the name of the status it leads to. */
export async function transition(
  client: HttpClient,
  issue: string,
  name: string,
  key: string,
  signal: AbortSignal,
): Promise<TransitionResult> {
  const route = "/issue/{issue}/transitions";
  const { data } = await client.read({ route: `GET ${route}`, path: { issue }, schema: shapes.transitions, signal });
  const found =
    data.transitions.find((one) => one.id === name.trim()) ??
    data.transitions.find((one) => same(one.name, name)) ??
    data.transitions.find((one) => same(one.to?.name ?? "", name));
  if (!found) {
    const available = data.transitions.map((one) => `"${one.name}" (${one.id}${one.to ? `, to ${one.to.name}` : ""})`).join(", ");
    throw new PluginError(
      "invalid_input",
      `${issue} has no transition ${JSON.stringify(name.slice(0, 200))}; available: ${available || "none"}`,
    );
  }
  const result = { issue, transition: found.name, status: found.to?.name ?? null };
  // The platform stores this with the entry in the issue's history. A move with an unknown outcome is looked up there.
  const history = {
    type: "signalbox",
    extraData: { key, transition: found.name, ...(result.status ? { status: result.status } : {}) },
  };
  const body = { transition: { id: found.id }, historyMetadata: history };
  await client.write({ route: `POST ${route}`, path: { issue }, body, schema: shapes.ignoredBody, signal });
  return result;
}

const changes = z.object({
  changelog: z.object({ histories: z.array(z.looseObject({ historyMetadata: z.unknown() })) }).nullish(),
});

/** Finds the move with `key` among the newest entries of the issue's history. */
export async function findTransition(
  client: HttpClient,
  issue: string,
  key: string,
  signal: AbortSignal,
): Promise<TransitionResult | null> {
  const query = { expand: "changelog", fields: "status" };
  const { data } = await client.read({ route: "GET /issue/{issue}", path: { issue }, query, schema: changes, signal });
  for (const { historyMetadata } of data.changelog?.histories ?? []) {
    const extra = valueAt(historyMetadata, "extraData");
    if (valueAt(extra, "key") !== key) continue;
    const status = valueAt(extra, "status");
    return { issue, transition: String(valueAt(extra, "transition") ?? ""), status: typeof status === "string" ? status : null };
  }
  return null;
}
