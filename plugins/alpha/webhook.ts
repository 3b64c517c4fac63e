import { isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import type { z } from "zod";
import { repositoryOf } from "./address.ts";
import type { Client, Parameters } from "./client.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

type Hook = z.output<typeof shapes.hook>;

/** Events that a webhook of a repository can deliver. */
const deliverable = new Set([
  "branch_protection_configuration",
  "branch_protection_rule",
  "check_run",
  "check_suite",
  "code_scanning_alert",
  "commit_comment",
  "create",
  "custom_property_values",
  "delete",
  "dependabot_alert",
  "deploy_key",
  "deployment",
  "deployment_review",
  "deployment_status",
  "discussion",
  "discussion_comment",
  "fork",
  "gollum",
  "issue_comment",
  "issue_dependencies",
  "issues",
  "label",
  "member",
  "merge_group",
  "meta",
  "milestone",
  "package",
  "page_build",
  "public",
  "pull_request",
  "pull_request_review",
  "pull_request_review_comment",
  "pull_request_review_thread",
  "push",
  "registry_package",
  "release",
  "repository",
  "repository_advisory",
  "repository_import",
  "repository_ruleset",
  "repository_vulnerability_alert",
  "secret_scanning_alert",
  "secret_scanning_alert_location",
  "security_and_analysis",
  "star",
  "status",
  "sub_issues",
  "team_add",
  "watch",
  "workflow_dispatch",
  "workflow_job",
  "workflow_run",
  "ping",
]);

/** Compares the webhook of a repository with the events that the mappings need; see `Source.checkWebhook`. */
export async function checkWebhook(
  client: Client,
  { project, url, events, apply }: WantedWebhook,
  connection: Settings,
  signal: AbortSignal,
): Promise<WebhookReport> {
  const repository = { ...repositoryOf(project ?? undefined) };
  // A webhook mapping may name event and action in one: "issues.opened".
  const names = [...new Set(events.map(({ event_name }) => event_name.split(".")[0] ?? event_name))].sort();
  const unknownEvents = names.filter((name) => !deliverable.has(name));
  // A ping is sent whatever the webhook is configured for.
  const needed = names.filter((name) => deliverable.has(name) && name !== "ping");
  const hook = (await hooksOf(client, repository, signal)).find(({ config }) => isSameUrl(config.url, url));
  const missing = hook ? needed.filter((name) => !hook.events.includes(name) && !hook.events.includes("*")) : needed;
  if (apply && (!hook || missing.length > 0)) {
    const savedHook = await write(client, repository, hook, { url, needed, missing }, connection, signal);
    return { ...reportOf(savedHook, connection), missing: [], unknown: unknownEvents, changed: hook ? "updated" : "created" };
  }
  return { ...(hook ? reportOf(hook, connection) : absent), missing, unknown: unknownEvents, changed: null };
}

const absent = { id: null, active: false, configured: [], notes: ["No webhook in the repository points to this URL."] };

async function hooksOf(client: Client, repository: Parameters, signal: AbortSignal): Promise<readonly Hook[]> {
  try {
    return (await client.read("GET /repos/{owner}/{repo}/hooks", { ...repository, per_page: 100 }, shapes.hooks, signal)).data;
  } catch (error) {
    if (!(error instanceof PluginError) || (error.code !== "not_found" && error.code !== "unauthorized")) throw error;
    throw new PluginError(
      "unauthorized",
      `cannot read the repository's webhooks: the repository does not exist, or the token does not have the permission Webhooks (or the scope admin:repo_hook) (${error.message})`,
    );
  }
}

async function write(
  client: Client,
  repository: Parameters,
  hook: Hook | undefined,
  { url, needed, missing }: { url: string; needed: readonly string[]; missing: readonly string[] },
  { webhook_secret }: Settings,
  signal: AbortSignal,
): Promise<Hook> {
  if (hook) {
    const change = { ...repository, hook_id: hook.id, add_events: missing, active: true };
    return (await client.write("PATCH /repos/{owner}/{repo}/hooks/{hook_id}", change as Parameters, shapes.hook, signal)).data;
  }
  const config = {
    url,
    content_type: "json",
    insecure_ssl: "0",
    ...(webhook_secret !== undefined && { secret: webhook_secret }),
  };
  const newHook = { ...repository, name: "web", active: true, events: needed, config };
  return (await client.write("POST /repos/{owner}/{repo}/hooks", newHook, shapes.hook, signal)).data;
}

function reportOf({ id, active, events, config, last_response }: Hook, { webhook_secret }: Settings) {
  const notes: string[] = [];
  if (!active) notes.push("The webhook is disabled.");
  if (webhook_secret !== undefined && !config.secret)
    notes.push("The webhook has no secret, so its deliveries are refused: give it the value of ALPHA_WEBHOOK_SECRET.");
  if (String(config.insecure_ssl) === "1") notes.push("The platform does not verify this service's certificate.");
  const status = last_response?.code ?? 0;
  if (status >= 400) notes.push(`The last delivery was answered with ${status}.`);
  return { id: String(id), active, configured: [...events], notes };
}
