import { type HttpClient, isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import type { z } from "zod";
import { projectOf } from "./address.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

type Hook = z.output<typeof shapes.hook>;

/** The field of a webhook that makes the platform deliver an event with this name. */
const hookFields: Readonly<Record<string, string>> = {
  "Issue Hook": "issues_events",
  "Confidential Issue Hook": "confidential_issues_events",
  "Note Hook": "note_events",
  "Confidential Note Hook": "confidential_note_events",
  "Merge Request Hook": "merge_requests_events",
  "Push Hook": "push_events",
  "Tag Push Hook": "tag_push_events",
  "Pipeline Hook": "pipeline_events",
  "Job Hook": "job_events",
  "Wiki Page Hook": "wiki_page_events",
  "Deployment Hook": "deployment_events",
  "Release Hook": "releases_events",
  "Feature Flag Hook": "feature_flag_events",
  "Emoji Hook": "emoji_events",
  "Milestone Hook": "milestone_events",
  "Resource Access Token Hook": "resource_access_token_events",
};

/** Compares the webhook of a project with the events that the mappings need; see `Source.checkWebhook`. */
export async function checkWebhook(
  client: HttpClient,
  { project, url, events, apply }: WantedWebhook,
  connection: Settings,
  signal: AbortSignal,
): Promise<WebhookReport> {
  const path = { project: projectOf(project ?? undefined) };
  // A webhook mapping may name event and action in one: "Issue Hook.open".
  const names = [...new Set(events.map(({ event_name }) => event_name.split(".")[0] ?? event_name))].sort();
  const unknownEvents = names.filter((name) => !Object.hasOwn(hookFields, name));
  const neededHookFields = names.flatMap((name) => (Object.hasOwn(hookFields, name) ? (hookFields[name] ?? []) : []));
  const hook = (await hooksOf(client, path, signal)).find((one) => isSameUrl(one.url, url));
  const missingFields = hook ? neededHookFields.filter((name) => hook[name] !== true) : neededHookFields;
  if (apply && (!hook || missingFields.length > 0)) {
    const savedHook = await write(client, path, hook, { url, needed: neededHookFields }, connection, signal);
    return {
      ...reportOf(savedHook),
      missing: neededHookFields.filter((name) => savedHook[name] !== true),
      unknown: unknownEvents,
      changed: hook ? "updated" : "created",
    };
  }
  return { ...(hook ? reportOf(hook) : absent), missing: missingFields, unknown: unknownEvents, changed: null };
}

const absent = { id: null, active: false, configured: [], notes: ["No webhook in the project points to this URL."] };

async function hooksOf(client: HttpClient, path: { project: string }, signal: AbortSignal): Promise<readonly Hook[]> {
  const request = { route: "GET /projects/{project}/hooks", path, query: { per_page: 100 }, schema: shapes.hooks, signal };
  try {
    return (await client.read(request)).data;
  } catch (error) {
    if (!(error instanceof PluginError) || (error.code !== "not_found" && error.code !== "unauthorized")) throw error;
    throw new PluginError(
      "unauthorized",
      `cannot read the project's webhooks: the project does not exist, or the token's account is not a maintainer (${error.message})`,
    );
  }
}

/**
 * An update must contain the URL; members that it omits stay unchanged. The platform never returns a token, so the token is
 * not sent again.
 */
async function write(
  client: HttpClient,
  path: { project: string },
  hook: Hook | undefined,
  { url, needed }: { url: string; needed: readonly string[] },
  { webhook_secret, token }: Settings,
  signal: AbortSignal,
): Promise<Hook> {
  const on = Object.fromEntries(needed.map((name) => [name, true]));
  if (hook) {
    const request = {
      route: "PUT /projects/{project}/hooks/{hook}",
      path: { ...path, hook: hook.id },
      body: { url: hook.url, ...on },
    };
    return (await client.write({ ...request, schema: shapes.hook, signal })).data;
  }
  // Pushes are on by default.
  const body = { url, push_events: false, ...on, enable_ssl_verification: true, token: webhook_secret ?? token };
  return (await client.write({ route: "POST /projects/{project}/hooks", path, body, schema: shapes.hook, signal })).data;
}

function reportOf(hook: Hook) {
  const isDisabled = hook.alert_status !== undefined && hook.alert_status !== null && hook.alert_status !== "executable";
  const notes = isDisabled ? [`The platform has disabled the webhook after failed deliveries (${hook.alert_status}).`] : [];
  if (hook.enable_ssl_verification === false) notes.push("The platform does not verify this service's certificate.");
  const configured = [...new Set(Object.values(hookFields))].filter((name) => hook[name] === true);
  return { id: String(hook.id), active: !isDisabled, configured, notes };
}
