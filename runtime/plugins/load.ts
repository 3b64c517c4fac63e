import { createRequire } from "node:module";
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Contributions, Plugin } from "@signalbox/sdk";
import type { Log } from "../log.ts";
import { admit, capabilityNames, Refusal } from "./admit.ts";
import { capabilitiesFor, type Grants, type Reach } from "./capabilities.ts";

export interface Loaded {
  readonly plugin: Plugin;
  readonly contributions: Contributions;
}
/** A plugin that is not in service, and why. The rest starts without it. */
export interface Refused {
  readonly name: string;
  readonly code: string;
  readonly reason: string;
}
export interface LoadOptions {
  readonly builtIns: readonly Plugin[];
  /** Package names or paths of modules. */
  readonly extra: readonly string[];
  readonly configOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Sends a body at most once. */
  readonly fetch: typeof globalThis.fetch;
  /** Hosts of a plugin's connections, for its `fetch`. */
  readonly hostsOf: (plugin: string) => readonly string[];
  /** Hosts that users gave, and the `fetch` that reaches them only where they are public. */
  readonly given?: { readonly hostsOf: (plugin: string) => readonly string[]; readonly fetch: typeof globalThis.fetch };
  /** What the host has beside; the database and Redis are handed to built-ins only. */
  readonly grants?: Grants;
  readonly log: Log;
  readonly setupMs?: number;
}

/** Imports, admits and sets up. Built-ins come by the same door; one that is refused stops the start. */
export async function loadPlugins(options: LoadOptions): Promise<{ loaded: Loaded[]; refused: Refused[] }> {
  const taken = new Set<string>();
  const admitted: Plugin[] = [];
  const refused: Refused[] = [];
  const take = (value: unknown, offered = capabilityNames) => {
    const plugin = admit(value, taken, offered);
    taken.add(plugin.id);
    admitted.push(plugin);
  };
  const everything = [...new Set([...capabilityNames, ...Object.keys(options.grants ?? {})])];
  for (const plugin of options.builtIns) take(plugin, everything);
  for (const name of options.extra) {
    try {
      take((await importPlugin(name)).default);
    } catch (error) {
      refused.push(refusal(name, error));
    }
  }
  const loaded: Loaded[] = [];
  const results = await Promise.allSettled(admitted.map((plugin) => setUp(plugin, options)));
  for (const [i, result] of results.entries()) {
    const plugin = admitted[i] as Plugin;
    if (result.status === "fulfilled") loaded.push({ plugin, contributions: result.value });
    else if (options.builtIns.includes(plugin)) throw result.reason;
    else refused.push(refusal(plugin.id, result.reason));
  }
  for (const one of refused) options.log.error("plugin refused", { ...one });
  return { loaded, refused };
}

async function setUp(plugin: Plugin, options: LoadOptions): Promise<Contributions> {
  const config = plugin.config.safeParse(options.configOf(plugin.id));
  if (!config.success) {
    const [issue] = config.error.issues;
    throw new Refusal("BAD_CONFIG", `${plugin.id}: its setting ${issue?.path.join(".")} is not valid: ${issue?.message}`);
  }
  const capabilities = capabilitiesFor(plugin, reachOf(plugin.id, options), options.log, options.grants);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = options.setupMs ?? 10_000;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Refusal("SETUP_TIMEOUT", `${plugin.id}: setup took longer than ${limit} ms.`)), limit);
  });
  try {
    const contributions = await Promise.race([plugin.setup({ ...capabilities, config: config.data }), late]);
    check(plugin, contributions);
    return contributions;
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("SETUP_FAILED", `${plugin.id}: setup threw: ${error}`, error);
  } finally {
    clearTimeout(timer);
  }
}

const reachOf = (plugin: string, { fetch, hostsOf, given }: LoadOptions): Reach => ({
  fetch,
  hosts: () => hostsOf(plugin),
  ...(given && { given: { hosts: () => given.hostsOf(plugin), fetch: given.fetch } }),
});

const name = /^[a-z][a-z0-9_-]{0,62}$/;

function check(plugin: Plugin, contributions: Contributions): void {
  const bad = (what: string) => new Refusal("BAD_CONTRIBUTION", `${plugin.id}: ${what}`);
  if (typeof contributions !== "object" || contributions === null)
    throw bad("expected setup to return an object of contributions.");
  for (const kind of ["sources", "tools", "memories", "knowledge", "queues", "useCases"] as const) {
    for (const key of Object.keys(contributions[kind] ?? {})) {
      if (!name.test(key)) throw bad(`expected names in ${kind} like add_comment; "${key}" is not one.`);
    }
  }
  for (const [key, one] of Object.entries(contributions.knowledge ?? {})) {
    if (one.config?.def?.type !== "object") throw bad(`expected knowledge.${key}.config to be a z.object.`);
    const stray = one.secrets.find((member) => !Object.hasOwn(one.config.shape, member));
    if (stray) throw bad(`expected knowledge.${key}.secrets to name members of its config; "${stray}" is none.`);
  }
  for (const [key, tool] of Object.entries(contributions.tools ?? {})) {
    if (tool.input?.def?.type !== "object") throw bad(`expected tools.${key}.input to be a z.object.`);
    if (tool.effect === "write" && !tool.idempotent && !tool.find)
      throw bad(`tools.${key} writes, and is neither idempotent nor has find().`);
  }
}

/** A path is taken from the working folder, a package name from its node_modules. */
async function importPlugin(specifier: string): Promise<{ default?: unknown }> {
  const isPath = specifier.startsWith(".") || isAbsolute(specifier);
  let file: string;
  try {
    file = isPath ? resolve(specifier) : createRequire(resolve("package.json")).resolve(specifier);
  } catch (error) {
    throw new Refusal(
      "NOT_FOUND",
      `No package "${specifier}" in node_modules here. Install it, or give the path of its module.`,
      error,
    );
  }
  try {
    return (await import(pathToFileURL(file).href)) as { default?: unknown };
  } catch (error) {
    throw new Refusal(
      "NOT_FOUND",
      `${specifier} could not be imported: ${error instanceof Error ? error.message : error}`,
      error,
    );
  }
}

const refusal = (plugin: string, error: unknown): Refused => ({
  name: plugin,
  code: error instanceof Refusal ? error.code : "SETUP_FAILED",
  reason: error instanceof Error ? error.message : String(error),
});
