import type { Contributions, Plugin } from "@signalbox/sdk";
import { contributionKinds } from "@signalbox/sdk/manifest";
import { within } from "../platform/abortable.ts";
import { messageOf } from "../platform/error-text.ts";
import { firstProblem } from "../platform/issue-text.ts";
import type { Log } from "../platform/log.ts";
import { admit, capabilityNames, Refusal } from "./admit.ts";
import { capabilitiesFor, type Grants, type InProcessEgressRules } from "./capabilities.ts";
import type { OffloadFor } from "./offload.ts";
import { serversIn } from "./settings-hosts.ts";

/** Name of the database's own message queue, which no plugin's queue can have. */
export const ownQueue = "postgres";

/** A plugin, built in or not, with the contributions that the host serves. */
export interface LoadedPlugin {
  readonly plugin: { readonly id: string; readonly version: string };
  readonly contributions: Contributions;
  readonly builtIn: boolean;
  /** JSON Schemas of its tools' parameters; present if the plugin runs in a separate process. */
  readonly schemas?: Readonly<Record<string, Record<string, unknown>>>;
}
/** A plugin that is not available, and why. The service starts without it. */
export interface RefusedPlugin {
  readonly name: string;
  readonly code: string;
  readonly reason: string;
}
export interface LoadOptions {
  readonly builtIns: readonly Plugin[];
  readonly configOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Sends a body at most once. */
  readonly fetch: typeof globalThis.fetch;
  /** Hosts of a plugin's connections, for its `fetch`. */
  readonly hostsOf: (plugin: string) => readonly string[];
  /** Hosts that users entered, and the `fetch` that reaches them only at public addresses. */
  readonly userUrls?: { readonly hostsOf: (plugin: string) => readonly string[]; readonly fetch: typeof globalThis.fetch };
  /** Other dependencies from the host; only built-in plugins receive the database and Redis. */
  readonly grants?: Grants;
  /** If absent, no plugin may need `offload`. */
  readonly offloadFor?: OffloadFor;
  /** URL of the module of a plugin that is not built in. */
  readonly module?: string;
  readonly log: Log;
}

/** Timeout of a plugin's setup. */
const setupMs = 10_000;

/** Admits and sets up the built-in plugins. If one is refused, the service does not start. */
export async function loadBuiltIns(options: LoadOptions): Promise<LoadedPlugin[]> {
  const takenIds = new Set<string>();
  const capabilities = [...new Set([...capabilityNames, ...Object.keys(options.grants ?? {})])];
  for (const plugin of options.builtIns) takenIds.add(admit(plugin, takenIds, capabilities).id);
  const loaded = await Promise.all(options.builtIns.map((plugin) => setUp(plugin, options)));
  return options.builtIns.map((plugin, i) => ({ plugin, contributions: loaded[i] as Contributions, builtIn: true }));
}

/** Passes a plugin the capabilities that it needs and sets it up, with a timeout. Throws a `Refusal`. */
export async function setUp(plugin: Plugin, options: Omit<LoadOptions, "builtIns">): Promise<Contributions> {
  const config = plugin.config.safeParse(options.configOf(plugin.id));
  if (!config.success) {
    const { path, text } = firstProblem(config.error);
    throw new Refusal("BAD_CONFIG", `${plugin.id}: its setting ${path} is not valid: ${text}`);
  }
  const settings = options.configOf(plugin.id);
  const capabilities = capabilitiesFor(plugin, egressRulesOf(plugin.id, options), options.log, {
    secret: async (name) => settings[name] ?? null,
    ...(options.offloadFor && { offload: options.offloadFor(plugin, options.module) }),
    ...options.grants,
  });
  const late = () => new Refusal("SETUP_TIMEOUT", `${plugin.id}: setup took longer than ${setupMs} ms.`);
  try {
    const contributions = await within(plugin.setup({ ...capabilities, config: config.data }), setupMs, late);
    checkContributions(plugin.id, contributions);
    return contributions;
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("SETUP_FAILED", `${plugin.id}: setup threw: ${error}`, error);
  }
}

const egressRulesOf = (
  plugin: string,
  { fetch, hostsOf, configOf, userUrls }: Omit<LoadOptions, "builtIns">,
): InProcessEgressRules => ({
  fetch,
  hosts: () => hostsOf(plugin),
  servers: () => serversIn(configOf(plugin)),
  ...(userUrls && { userUrls: { hosts: () => userUrls.hostsOf(plugin), fetch: userUrls.fetch } }),
});

const name = /^[a-z][a-z0-9_-]{0,62}$/;

/** Throws a `Refusal` that names the invalid contribution. */
export function checkContributions(plugin: string, contributions: Contributions): void {
  for (const wrong of faultsOf(contributions)) throw new Refusal("BAD_CONTRIBUTION", `${plugin}: ${wrong}`);
}

/** What is wrong with contributions, in sentences. */
function* faultsOf(contributions: Contributions): Iterable<string> {
  if (typeof contributions !== "object" || contributions === null) return yield "setup must return an object of contributions.";
  for (const kind of contributionKinds)
    for (const key of Object.keys(contributions[kind] ?? {}))
      if (!name.test(key)) yield `names in ${kind} must be like add_comment; "${key}" is not.`;
  if (Object.hasOwn(contributions.queues ?? {}, ownQueue))
    yield `the queue "${ownQueue}" is reserved for the database; use another name.`;
  for (const [key, one] of Object.entries(contributions.knowledge ?? {})) yield* knowledgeFaults(key, one);
  for (const [key, one] of Object.entries(contributions.routes ?? {})) yield* routeFaults(key, one);
  for (const [key, one] of Object.entries(contributions.tools ?? {})) yield* toolFaults(key, one);
}

type Contribution<K extends keyof Contributions> =
  NonNullable<Contributions[K]> extends Readonly<Record<string, infer One>> ? One : never;

function* knowledgeFaults(key: string, { config, secrets }: Contribution<"knowledge">): Iterable<string> {
  if (config?.def?.type !== "object") return yield `knowledge.${key}.config must be a z.object.`;
  const stray = secrets.find((member) => !Object.hasOwn(config.shape, member));
  if (stray) yield `knowledge.${key}.secrets must name members of its config; "${stray}" is not one.`;
}

function* routeFaults(key: string, { method, scope, input }: Contribution<"routes">): Iterable<string> {
  if (!["GET", "POST"].includes(method) || !["read", "write", "admin", "open"].includes(scope))
    yield `routes.${key} must have a method GET or POST and a scope read, write, admin or open; use route().`;
  if (input && input.def?.type !== "object") yield `routes.${key}.input must be a z.object.`;
}

function* toolFaults(key: string, { input, effect, idempotent, find }: Contribution<"tools">): Iterable<string> {
  if (input?.def?.type !== "object") yield `tools.${key}.input must be a z.object.`;
  if (effect === "write" && !idempotent && !find) yield `tools.${key} writes, so it must be idempotent or have find().`;
}

export const refusedPlugin = (plugin: string, error: unknown): RefusedPlugin => ({
  name: plugin,
  code: error instanceof Refusal ? error.code : "SETUP_FAILED",
  reason: messageOf(error),
});
