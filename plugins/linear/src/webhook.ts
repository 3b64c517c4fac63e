import { isSameUrl, PluginError, type WantedWebhook, type WebhookReport } from "@signalbox/sdk";
import { z } from "zod";
import { teamOf } from "./address.ts";
import type { Account } from "./comments.ts";
import { teamIdOf } from "./issues.ts";
import type { Settings } from "./settings.ts";
import * as shapes from "./shapes.ts";

/** What Linear delivers webhooks about, as far as triggers can use it. */
const deliverable = new Set([
  "Attachment",
  "Comment",
  "Cycle",
  "Document",
  "Issue",
  "IssueLabel",
  "IssueSLA",
  "Project",
  "ProjectUpdate",
  "Reaction",
  "Customer",
  "CustomerNeed",
  "Initiative",
  "InitiativeUpdate",
  "User",
]);
const hook = z.object({
  id: z.string(),
  url: z.string().nullish(),
  enabled: z.boolean(),
  resourceTypes: z.array(z.string()),
  team: shapes.team.nullish(),
});
type Hook = z.output<typeof hook>;
const fields = "id url enabled resourceTypes team { id key name }";

/**
 * Compares the webhook of a team, or that of all public teams, with the events that the mappings need; see
 * `Source.checkWebhook`.
 */
export async function checkWebhook(account: Account, wanted: WantedWebhook, settings: Settings): Promise<WebhookReport> {
  const names = [...new Set(wanted.events.map(({ event_name }) => event_name))].sort();
  const unknownResources = names.filter((name) => !deliverable.has(name));
  const knownResources = names.filter((name) => deliverable.has(name));
  const team = wanted.project === null ? null : teamOf(wanted.project);
  const same = (await hooks(account)).filter(({ url }) => isSameUrl(url ?? "", wanted.url));
  const found = same.find((one) => one.team === null || one.team === undefined || one.team.key === team);
  const missing = knownResources.filter((name) => !found?.resourceTypes.includes(name));
  if (!wanted.apply || (found && missing.length === 0))
    return { ...(found ? reportOf(found) : absent), missing, unknown: unknownResources, changed: null };
  const savedHook = found
    ? await update(account, found.id, { resourceTypes: [...found.resourceTypes, ...missing], enabled: true })
    : await create(account, wanted.url, knownResources, team, settings);
  const left = knownResources.filter((name) => !savedHook.resourceTypes.includes(name));
  return { ...reportOf(savedHook), missing: left, unknown: unknownResources, changed: found ? "updated" : "created" };
}

const absent = { id: null, active: false, configured: [], notes: ["No webhook in the workspace points to this URL."] };

const reportOf = ({ id, enabled, resourceTypes }: Hook) => ({
  id,
  active: enabled,
  configured: [...resourceTypes],
  notes: enabled ? [] : ["The webhook is disabled. Linear disables a webhook whose deliveries keep failing."],
});

async function hooks({ client, signal }: Account): Promise<readonly Hook[]> {
  const document = `query Webhooks { webhooks(first: 100) { nodes { ${fields} } } }`;
  try {
    return (await client.query({ document, data: z.object({ webhooks: z.object({ nodes: z.array(hook) }) }) }, signal)).webhooks
      .nodes;
  } catch (error) {
    if (!(error instanceof PluginError) || error.code !== "unauthorized") throw error;
    throw new PluginError(
      "unauthorized",
      `the token cannot read the workspace's webhooks: its account must be an admin (${error.message})`,
    );
  }
}

async function create(
  { client, signal }: Account,
  url: string,
  resourceTypes: readonly string[],
  team: string | null,
  settings: Settings,
) {
  if (settings.webhook_secret === undefined)
    throw new PluginError("not_configured", "set webhook_secret first: webhooks are refused without it");
  const teamScope = team === null ? { allPublicTeams: true } : { teamId: await teamIdOf({ client, signal }, team) };
  const input = { label: "Signalbox", url, resourceTypes, enabled: true, secret: settings.webhook_secret, ...teamScope };
  const document = `mutation CreateWebhook($input: WebhookCreateInput!) { webhookCreate(input: $input) { success webhook { ${fields} } } }`;
  const data = z.object({ webhookCreate: shapes.done.extend({ webhook: hook }) });
  return (await client.mutate({ document, variables: { input }, data }, signal)).webhookCreate.webhook;
}

async function update({ client, signal }: Account, id: string, input: object): Promise<Hook> {
  const document = `mutation UpdateWebhook($id: String!, $input: WebhookUpdateInput!) {
    webhookUpdate(id: $id, input: $input) { success webhook { ${fields} } }
  }`;
  const data = z.object({ webhookUpdate: shapes.done.extend({ webhook: hook }) });
  return (await client.mutate({ document, variables: { id, input }, data }, signal)).webhookUpdate.webhook;
}
