import { isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import { z } from "zod";
import { repositoryOf } from "./address.ts";
import type { ClientOf } from "./client.ts";
import type { GiteaCall } from "./comments.ts";
import * as shapes from "./shapes.ts";

type Hook = z.output<typeof shapes.hook>;

/** The events of a webhook that make the platform deliver an event with this name. */
const hookEvents: Readonly<Record<string, readonly string[]>> = {
  issues: ["issues", "issue_assign", "issue_label", "issue_milestone"],
  issue_comment: ["issue_comment", "pull_request_comment"],
  pull_request: ["pull_request", "pull_request_assign", "pull_request_label", "pull_request_milestone", "pull_request_sync"],
  pull_request_comment: ["pull_request_review"],
  pull_request_approved: ["pull_request_review"],
  pull_request_rejected: ["pull_request_review"],
  push: ["push"],
  create: ["create"],
  delete: ["delete"],
  release: ["release"],
};

/** Compares the webhook of a repository with the events that the mappings need; see `Source.checkWebhook`. */
export async function checkWebhook(client: ClientOf, wanted: WantedWebhook, call: GiteaCall): Promise<WebhookReport> {
  if (wanted.project === null)
    throw new PluginError("invalid_input", "project: must be owner/repo, because webhooks belong to repositories");
  const path = repositoryOf(wanted.project);
  const names = [...new Set(wanted.events.map(({ event_name }) => event_name))].sort();
  const unknownEvents = names.filter((name) => !Object.hasOwn(hookEvents, name));
  const neededHookEvents = [
    ...new Set(names.flatMap((name) => (Object.hasOwn(hookEvents, name) ? (hookEvents[name] ?? []) : []))),
  ];
  const hook = (await hooksOf(client, path, call)).find(({ config }) => isSameUrl(config.url ?? "", wanted.url));
  const missing = neededHookEvents.filter((name) => !hook?.events.includes(name));
  if (!wanted.apply || (hook && missing.length === 0))
    return { ...(hook ? reportOf(hook) : absent), missing, unknown: unknownEvents, changed: null };
  const savedHook = await write(client, path, hook, { url: wanted.url, events: [...(hook?.events ?? []), ...missing] }, call);
  const left = neededHookEvents.filter((name) => !savedHook.events.includes(name));
  return { ...reportOf(savedHook), missing: left, unknown: unknownEvents, changed: hook ? "updated" : "created" };
}

const absent = { id: null, active: false, configured: [], notes: ["No webhook in the repository points to this URL."] };
const reportOf = ({ id, active, events }: Hook) => ({
  id: String(id),
  active,
  configured: [...events],
  notes: active ? [] : ["The webhook is disabled."],
});
type Path = { readonly owner: string; readonly repo: string };

async function hooksOf(client: ClientOf, path: Path, { connection, signal }: GiteaCall): Promise<readonly Hook[]> {
  const request = { route: "GET /repos/{owner}/{repo}/hooks", path, query: { limit: 50 }, schema: z.array(shapes.hook), signal };
  try {
    return (await client(connection).read(request)).data;
  } catch (error) {
    if (!(error instanceof PluginError) || (error.code !== "unauthorized" && error.code !== "not_found")) throw error;
    throw new PluginError(
      "unauthorized",
      `the token cannot read the repository's webhooks: its account must be an administrator of the repository (${error.message})`,
    );
  }
}

/** The server never returns a secret, and an update without one keeps it. Both platforms accept hooks of the type gitea. */
async function write(
  client: ClientOf,
  path: Path,
  hook: Hook | undefined,
  { url, events }: { url: string; events: readonly string[] },
  { connection, signal }: GiteaCall,
): Promise<Hook> {
  const api = client(connection);
  if (hook) {
    const request = {
      route: "PATCH /repos/{owner}/{repo}/hooks/{id}",
      path: { ...path, id: hook.id },
      schema: shapes.hook,
      signal,
    };
    return (await api.write({ ...request, body: { events, active: true } })).data;
  }
  if (connection.webhook_secret === undefined)
    throw new PluginError("not_configured", "set webhook_secret first: webhooks are refused without it");
  const config = { url, content_type: "json", secret: connection.webhook_secret };
  const body = { type: "gitea", active: true, config, events };
  return (await api.write({ route: "POST /repos/{owner}/{repo}/hooks", path, body, schema: shapes.hook, signal })).data;
}
