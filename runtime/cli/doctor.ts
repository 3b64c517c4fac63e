import * as agents from "@signalbox/schema/agents";
import * as executions from "@signalbox/schema/executions";
import * as health from "@signalbox/schema/health";
import * as integrations from "@signalbox/schema/integrations";
import * as mappings from "@signalbox/schema/mappings";
import { nearestName } from "@signalbox/schema/nearest";
import type { Operation, Output } from "@signalbox/schema/operation";
import * as plugins from "@signalbox/schema/plugins";
import * as projects from "@signalbox/schema/projects";
import * as status from "@signalbox/schema/status";
import * as tasks from "@signalbox/schema/tasks";
import * as tools from "@signalbox/schema/tools";
import * as webhookMappings from "@signalbox/schema/webhook-mappings";
import * as events from "@signalbox/schema/webhooks";
import { builtInTriggers, setOf, sourcesWithoutActions } from "../mappings/defaults.ts";
import { missingPlugins, type PluginUses } from "./missing-plugins.ts";
import { stepsFor } from "./plugin/messages.ts";
import { type Call, callerOf, RequestError, type Service } from "./request.ts";

/** The configuration of a running service. */
export interface ServiceConfiguration extends PluginUses {
  readonly sources: readonly Pick<
    Output<typeof mappings.createSource>,
    "id" | "source" | "event_name" | "action" | "canonical_trigger"
  >[];
  /** Mappings by filter or by path, which also name a trigger. */
  readonly webhooks: readonly Pick<
    Output<typeof webhookMappings.get>,
    "id" | "source" | "event_type" | "path_pattern" | "canonical_trigger"
  >[];
  readonly triggers: readonly Pick<Output<typeof mappings.createTrigger>, "canonical_trigger" | "task_id">[];
  readonly tasks: readonly Pick<Output<typeof tasks.get>, "id" | "actor_id" | "actor_fallback">[];
  readonly agents: readonly Pick<Output<typeof agents.get>, "id" | "allowed_tools" | "policy">[];
  readonly projects: readonly Pick<Output<typeof projects.get>, "id" | "name" | "policy">[];
  readonly tools: readonly Pick<
    Output<typeof tools.list>["items"][number],
    "qualified_name" | "provider" | "origin" | "endpoint"
  >[];
  /** Deliveries of the last day that were refused. */
  readonly refusals: readonly Pick<Output<typeof events.list>["items"][number], "source" | "reason">[];
  /** Executions of the last day that posted nothing. */
  readonly unposted: readonly Pick<Output<typeof executions.list>["items"][number], "source" | "error">[];
  readonly plugins: readonly (Parameters<typeof stepsFor>[0] & PluginUses["plugins"][number])[];
  readonly checks: readonly Pick<Output<typeof status.get>["checks"][number], "name" | "state" | "message">[];
}

/** The problems because of which events get no answer, one sentence each, with the fix. */
export function problemsOf(configuration: ServiceConfiguration): string[] {
  const ids = {
    tasks: new Set(configuration.tasks.map(({ id }) => id)),
    agents: new Set(configuration.agents.map(({ id }) => id)),
  };
  const firedTriggers = new Set(configuration.triggers.map((one) => one.canonical_trigger));
  const idleTriggers = Map.groupBy(
    eventsOf(configuration).filter(({ trigger }) => !firedTriggers.has(trigger)),
    ({ trigger }) => trigger,
  );
  return [
    ...(configuration.webhooks.length > 0 || configuration.checks.some(isConnection) ? [] : [noTracker]),
    ...seedProblems(configuration),
    ...[...idleTriggers].map(
      ([trigger, rows]) =>
        `The trigger ${trigger} has no task, so ${anEvent(rows.length)} nothing: ${rows.map(({ event }) => event).join(", ")}. Run: ${commandToFix(trigger)}`,
    ),
    ...configuration.triggers
      .filter(({ task_id }) => !ids.tasks.has(task_id))
      .map((one) => `The trigger ${one.canonical_trigger} is mapped to the task ${one.task_id}, which does not exist.`),
    ...configuration.tasks
      .filter(({ actor_id, actor_fallback }) => !ids.agents.has(actor_id) && !actor_fallback?.trim())
      .map(({ id, actor_id }) => `The task ${id} names the agent ${actor_id}, which does not exist, and has no actor_fallback.`),
    ...unknownTriggers(configuration),
    ...unknownActions(configuration),
    ...unknownTools(configuration),
    ...wrongSecrets(configuration),
    ...missingVariables(configuration),
    ...missingPlugins(configuration),
    ...configuration.plugins.flatMap((one) =>
      stepsFor(
        one,
        configuration.accounts.some(({ source }) => one.sources.includes(source)),
      ),
    ),
    ...configuration.checks
      .filter(({ state }) => state === "degraded" || state === "failed")
      .map(({ name, message }) => `${name}: ${message}`),
  ];
}

const anEvent = (count: number): string => (count === 1 ? "this event starts" : "these events start");

/** Before their check has answered, and if it fails as a whole, all connections have one entry. */
const isConnection = ({ name }: { name: string }): boolean => name === "connections" || name.startsWith("connection:");

const noTracker =
  "No tracker is connected. Set the variables of one, for example ALPHA_TOKEN and ALPHA_WEBHOOK_SECRET for GitHub, and restart the service. The console's Connections page lists them.";

/** What a new service does not have yet. */
function seedProblems({ sources, triggers, tasks, agents }: ServiceConfiguration): string[] {
  if (sources.length > 0) return [];
  const empty = Object.entries({ agents, tasks, triggers, sources }).flatMap(([name, rows]) => (rows.length === 0 ? [name] : []));
  return [`No event is mapped to a trigger. Run: ${empty.map((name) => `signalbox ${name} seed`).join(" && ")}`];
}

/** The events that fire a trigger, from all kinds of mappings. */
const eventsOf = ({ sources, webhooks }: ServiceConfiguration): { trigger: string; event: string }[] => [
  ...sources.map(({ source, event_name, action, canonical_trigger }) => {
    return { trigger: canonical_trigger, event: `${source} ${event_name}${action ? `/${action}` : ""}` };
  }),
  ...webhooks.flatMap(({ source, event_type, path_pattern, canonical_trigger: trigger }) =>
    trigger === null ? [] : [{ trigger, event: `${source} ${event_type ?? path_pattern} (a webhook mapping)` }],
  ),
];

/** The command that gives a trigger a task. */
function commandToFix(trigger: string): string {
  const set = setOf(trigger);
  return set === null
    ? `signalbox triggers create --canonical-trigger ${trigger} --task-id <task>`
    : `signalbox triggers seed --include ${set}`;
}

/** Triggers with tasks that no mapping and no default has: probably mistyped, or their mapping was deleted. */
function unknownTriggers({ sources, webhooks, triggers }: ServiceConfiguration): string[] {
  const mapped = [...sources, ...webhooks].flatMap(({ canonical_trigger }) => canonical_trigger ?? []);
  const known = new Set([...mapped, ...builtInTriggers]);
  const tasks = Map.groupBy(
    triggers.filter(({ canonical_trigger }) => !known.has(canonical_trigger)),
    ({ canonical_trigger }) => canonical_trigger,
  );
  return [...tasks].map(([trigger, rows]) => {
    const nearest = nearestName(trigger, known);
    const suggestion = nearest === null ? "" : ` (did you mean ${nearest}?)`;
    const names = rows.map(({ task_id }) => task_id).join(", ");
    return `No event is mapped to the trigger ${trigger}${suggestion}, so nothing starts its ${rows.length === 1 ? "task" : "tasks"} ${names}.`;
  });
}

/** Mappings with an action at a source whose events have none. A webhook mapping with a path can read an action from the payload. */
const unknownActions = ({ sources, webhooks }: ServiceConfiguration): string[] =>
  sources
    .filter(({ source, action }) => action !== null && sourcesWithoutActions.has(source))
    .filter(({ source }) => !webhooks.some((one) => one.source === source && one.path_pattern !== null))
    .map(
      ({ source, event_name, action }) =>
        `The mapping of ${source} ${event_name}/${action} never matches, because events of ${source} have no action. Map ${event_name} without an action, and use a webhook mapping with a jq filter to select some of these events.`,
    );

/** Names of tools that do not exist, or not yet: a policy may name those of a plugin before it is installed. */
function unknownTools({ agents, projects, tools }: ServiceConfiguration): string[] {
  const names = [...new Set(tools.flatMap((one) => [one.qualified_name, `${one.provider}.*`]))];
  // `approve` ignores case, `allowed_tools` does not.
  const allowed = new Set(names);
  const approved = new Set(["comment", "*", ...names].map(lower));
  const unknown = (list: string, listed: readonly string[], isKnown: (name: string) => boolean): string[] => {
    const found = listed.filter((name) => !isKnown(name)).map((name) => withSuggestion(name, ["comment", ...names]));
    return found.length === 0 ? [] : [`The list ${list} names tools that do not exist: ${found.join(", ")}.`];
  };
  const isApproved = (name: string) => approved.has(lower(name));
  return [
    ...agents.flatMap((one) =>
      unknown(`allowed_tools of the agent ${one.id}`, one.allowed_tools ?? [], (name) => allowed.has(name)),
    ),
    ...agents.flatMap((one) => unknown(`policy.approve of the agent ${one.id}`, one.policy.approve ?? [], isApproved)),
    ...projects.flatMap((one) => unknown(`policy.approve of the project ${one.name}`, one.policy.approve ?? [], isApproved)),
  ];
}
const lower = (name: string): string => name.toLowerCase();

/** `alpha.add_coment (did you mean alpha.add_comment?)`; models see the name with two underscores instead of the dot. */
function withSuggestion(name: string, names: readonly string[]): string {
  const nearest = nearestName(name.replace("__", "."), names);
  return nearest === null ? name : `${name} (did you mean ${nearest}?)`;
}

const aboutSecrets = /signature|token|secret|authentic|verif/i;

/** A source whose webhooks have no signature, or one from another secret. */
function wrongSecrets({ refusals, plugins }: Pick<ServiceConfiguration, "refusals" | "plugins">): string[] {
  const found = refusals.filter(({ reason }) => aboutSecrets.test(reason ?? ""));
  return [...Map.groupBy(found, ({ source }) => source)].map(([source, [newest, ...others]]) => {
    const count = others.length === 0 ? "A webhook" : `${others.length + 1} webhooks`;
    const plugin = plugins.find(({ sources }) => sources.includes(source));
    const secret = plugin
      ? `the settings of the plugin ${plugin.id} (or its integration)`
      : `${source.toUpperCase()}_WEBHOOK_SECRET (or webhook_secret of its integration)`;
    return `${count} of ${source} ${others.length === 0 ? "was" : "were"} refused in the last day: ${newest?.reason?.replace(/^The webhook was refused: /, "")}. The webhook on the platform and ${secret} must have the same secret.`;
  });
}

/** Platforms whose events start runs, although the service has no account that posts the answers. */
function missingVariables({ unposted, checks, accounts, plugins }: ServiceConfiguration): string[] {
  // Only accounts that have all of their settings are checked.
  const checkedSources = checks.map(({ name }) => name.replace(/^connection:/, ""));
  const configured = [...checkedSources, ...accounts.map(({ source }) => source), ...plugins.flatMap(({ sources }) => sources)];
  const found = unposted.flatMap(({ source, error }) => {
    const [, missing = "plugin"] = /is not configured \(missing ([a-z_, ]+)\)$/.exec(error ?? "") ?? [];
    return missing === "plugin" || configured.includes(source) ? [] : [{ source, missing }];
  });
  return [...Map.groupBy(found, ({ source }) => source)].map(([source, [newest, ...others]]) => {
    const names = newest?.missing.split(", ").map((name) => `${source}_${name}`.toUpperCase()) ?? [];
    return `${source} is not configured, so the answers of ${others.length === 0 ? "1 run" : `${others.length + 1} runs`} in the last day were not posted. Set ${names.join(" and ")}, and restart the service.`;
  });
}

/** None if a proxy answers for a service that is down. */
async function deferredWebhooks(call: Call): Promise<ServiceConfiguration["deferred"]> {
  try {
    return (await call<Output<typeof health.get>>(health.get)).deferred_webhooks ?? [];
  } catch (error) {
    if (error instanceof RequestError && error.status !== undefined) return [];
    throw error;
  }
}

const dayMs = 86_400_000;

/** Reads the configuration of a running service and prints its problems. Returns whether there are none. */
export async function runDoctor(service: Service, out: (text: string) => void): Promise<boolean> {
  const call = callerOf(service, out);
  /** All pages of a list. */
  const list = async <T>(op: Operation): Promise<T[]> => {
    const rows: T[] = [];
    for (;;) {
      const page = await call<T[]>(op, { limit: 1000, offset: rows.length });
      rows.push(...page);
      if (page.length < 1000) return rows;
    }
  };
  const from = new Date(Date.now() - dayMs).toISOString();
  const problems = problemsOf({
    sources: await list(mappings.listSources),
    webhooks: await list(webhookMappings.list),
    triggers: await list(mappings.listTriggers),
    tasks: await list(tasks.list),
    agents: await list(agents.list),
    projects: await list(projects.list),
    tools: await list(tools.list),
    refusals: await call(events.list, { outcome: "refused", from, limit: 1000 }),
    unposted: await call(executions.list, { q: "nothing was posted", from, limit: 1000 }),
    plugins: await list(plugins.list),
    accounts: await list(integrations.list),
    deferred: await deferredWebhooks(call),
    refusedPlugins: await list(plugins.refused),
    checks: (await call<Output<typeof status.get>>(status.get)).checks,
  });
  out(problems.length === 0 ? "No problems found.\n" : problems.map((problem) => `- ${problem}\n`).join(""));
  return problems.length === 0;
}
