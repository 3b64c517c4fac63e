import { isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import type { z } from "zod";
import type { Client } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

type Hook = z.output<typeof shapes.hook>;

/** Things whose changes the platform's second kind of webhook delivers. */
const things = "workitem|workitem\\.comment|workitem\\.link|workitem\\.attachment|project|cycle|module|intake";
const deliverable = new RegExp(`^(?:${things})\\.(?:created|updated|deleted)$`);

/**
 * Compares the webhook of the workspace with the events that the mappings need; see `Source.checkWebhook`. Webhooks belong to
 * the workspace, not to a project. `client`: for version 2 of the API.
 */
export async function checkWebhook(
  client: Client,
  { url, events, apply }: WantedWebhook,
  { webhook_secret }: Settings,
  signal: AbortSignal,
): Promise<WebhookReport> {
  const names = [...new Set(events.map(({ event_name }) => scopeOf(event_name)))].sort();
  const unknownEvents = names.filter((name) => !deliverable.test(name));
  const knownEvents = names.filter((name) => deliverable.test(name));
  const path = { slug: client.slug };
  const hook = (await hooksOf(client, path, signal)).find((one) => isSameUrl(one.url, url));
  const scopes = hook?.scopes ?? [];
  const missing = knownEvents.filter((name) => !scopes.includes(name));
  const unsigned = webhook_secret === undefined ? [noSecret] : [];
  if (!apply || (hook && missing.length === 0))
    return { ...(hook ? reportOf(hook, unsigned) : absent), missing, unknown: unknownEvents, changed: null };
  const wanted = { scopes: [...scopes, ...missing], is_active: true };
  const route = "/workspaces/{slug}/webhooks/";
  const savedHook = hook
    ? await client.write({
        route: `PATCH ${route}{hook}/`,
        path: { ...path, hook: hook.id },
        body: wanted,
        schema: shapes.hook,
        signal,
      })
    : await client.write({
        route: `POST ${route}`,
        path,
        body: { name: "Signalbox", url, ...wanted },
        schema: shapes.hook,
        signal,
      });
  const left = knownEvents.filter((name) => !(savedHook.data.scopes ?? []).includes(name));
  const notes = hook ? unsigned : [generated];
  return { ...reportOf(savedHook.data, notes), missing: left, unknown: unknownEvents, changed: hook ? "updated" : "created" };
}

const absent = { id: null, active: false, configured: [], notes: ["No webhook in the workspace points to this URL."] };
const noSecret = "DELTA_WEBHOOK_SECRET is not set, so the platform's deliveries are not verified by their signature.";
const generated =
  "The platform has generated a secret for the webhook. Generate a new one in the workspace settings, and set DELTA_WEBHOOK_SECRET to it.";

/** The mappings' `issue.activity.created` is the platform's `workitem.comment.created`. */
const scopeOf = (event: string): string =>
  event
    .replace(/^issue\.activity\.created$/, "issue_comment.created")
    .replace(/^issue_comment\b/, "workitem.comment")
    .replace(/^(?:issue|work_item)\b/, "workitem");

async function hooksOf(client: Client, path: { slug: string }, signal: AbortSignal): Promise<readonly Hook[]> {
  const request = { route: "GET /workspaces/{slug}/webhooks/", path, schema: shapes.lists.hooks, signal };
  try {
    return (await client.read(request)).data.results;
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (code === "not_found")
      throw new PluginError(
        "unsupported",
        "this server has no API for webhooks (version 2): compare the events in the workspace settings",
      );
    if (code !== "unauthorized") throw error;
    throw new PluginError(
      "unauthorized",
      `the API key cannot read the workspace's webhooks: its account must be an administrator (${message})`,
    );
  }
}

function reportOf({ id, is_active, scopes, version }: Hook, notes: readonly string[]) {
  const active = is_active !== false;
  const allNotes = [...(active ? [] : ["The webhook is disabled."]), ...notes];
  if (version === "v1") allNotes.push("The webhook has version 1, which Plane has deprecated: create a new webhook.");
  return { id, active, configured: [...(scopes ?? [])], notes: allNotes };
}
