import {
  type Capabilities,
  type CapabilityName,
  type Contributions,
  PLUGIN_BRAND,
  type Plugin,
  type Source,
  type Tool,
} from "@signalbox/sdk";
import type { BuiltManifest } from "@signalbox/sdk/manifest";
import type { Conformance, TestTracker } from "@signalbox/sdk/testing";
import { z } from "zod";
import { openTcp } from "../../../platform/network/tcp.ts";
import type { Mask } from "../../../plugins/sandbox/caller.ts";
import { contributionsOf } from "../../../plugins/sandbox/contributions.ts";
import { createHostFetch } from "../../../plugins/sandbox/host-fetch.ts";
import { openSandbox, type Sandbox } from "../../../plugins/sandbox/open.ts";
import { createPlaceholders } from "../../../plugins/sandbox/placeholders.ts";
import { serveCapabilities } from "../../../plugins/sandbox/serve-capabilities.ts";
import { hostsIn, serversIn } from "../../../plugins/settings-hosts.ts";
import type { PluginBuild } from "../build.ts";

type Fetch = typeof globalThis.fetch;

/** The shared state of the cases of a run: where requests are sent, and what the plugin did. */
export interface RunState {
  /** Answers the requests for which the case has no simulated tracker. */
  readonly fetch: Fetch;
  /** Simulated tracker of the running case. It answers the requests to all hosts of the manifest. */
  tracker: Pick<TestTracker, "url"> | null;
  /** Hosts and methods that the plugin used: `GET api.example.com`. */
  readonly usedHosts: Set<string>;
  /** Lines that the plugin wrote to standard error. */
  readonly stderrLines: string[];
}

/** The built bundle as a plugin value. Each function runs in the sandbox, as it does in the service. */
interface PluginUnderTest {
  readonly plugin: Plugin;
  /** Called between two cases: processes may be reused. */
  endCase(): void;
  close(): Promise<void>;
}

interface Process {
  readonly key: string;
  readonly sandbox: Sandbox;
  readonly mask: Mask;
  /** Capabilities of the case that uses the process. */
  capabilities: Partial<Capabilities>;
  busy: boolean;
  hasExited: boolean;
}

/** Capabilities that a suite provides; the host provides the others. */
const suiteCapabilities: readonly string[] = ["operations", "trackers", "vectors", "embed"];

export function openPluginUnderTest(
  { manifest, bundle }: PluginBuild,
  conformance: Conformance,
  state: RunState,
): PluginUnderTest {
  const processes: Process[] = [];
  const needs = ["log", ...manifest.needs.filter((need) => suiteCapabilities.includes(need))] as CapabilityName[];
  const setup = async ({
    config,
    ...capabilities
  }: Partial<Capabilities> & { config: Record<string, unknown> }): Promise<Contributions> => {
    const key = JSON.stringify([config, capabilities.vectors ?? null]);
    const free = processes.find((one) => !one.busy && !one.hasExited && one.key === key);
    const process = free ?? (await start(key, config, capabilities));
    process.busy = true;
    process.capabilities = capabilities;
    return withSchemas({ ...process.sandbox.contributions, sources: bareSources(process, manifest) }, manifest.contributes);
  };
  const start = async (key: string, config: Record<string, unknown>, capabilities: Partial<Capabilities>): Promise<Process> => {
    const process = await open(manifest, bundle, { conformance, state, config, capabilities });
    const made = Object.assign(process, { key });
    processes.push(made);
    return made;
  };
  const { id, version, sdk, about } = manifest;
  const plugin = Object.freeze({
    id,
    version,
    sdk,
    needs,
    setup,
    config: z.looseObject({}),
    ...(about !== undefined && { about }),
    [PLUGIN_BRAND]: Object.freeze({ contract: manifest.contract, sdk }),
  }) as unknown as Plugin;
  return {
    plugin,
    endCase: () => {
      for (const one of processes) one.busy = false;
    },
    close: async () => {
      const exits = await Promise.all(processes.map(({ sandbox }) => sandbox.close(2_000).then(() => sandbox.whenExited)));
      state.stderrLines.push(...exits.map(({ stderr }) => stderr));
    },
  };
}

interface OpenOptions {
  readonly conformance: Conformance;
  readonly state: RunState;
  readonly config: Record<string, unknown>;
  readonly capabilities: Partial<Capabilities>;
}

async function open(manifest: BuiltManifest, bundle: string, { conformance, state, config, capabilities }: OpenOptions) {
  const secrets = conformance.secrets ?? {};
  const placeholders = createPlaceholders(manifest.secrets, () => secrets);
  const process: Omit<Process, "sandbox" | "key"> & { sandbox?: Sandbox } = {
    capabilities,
    busy: true,
    hasExited: false,
    mask: placeholders.mask,
  };
  const ways = {
    permissions: manifest.permissions.http,
    guardedFetch: fetchFor(state),
    directFetch: settingsFetchFor(state),
    operatorHosts: () => [...hostsIn(config), ...(state.tracker ? [new URL(state.tracker.url).host] : [])],
    userHosts: () => [],
  };
  const hostFetch = createHostFetch(manifest.id, ways, placeholders);
  const maskedSecrets = placeholders.mask(secrets);
  const tcp = openTcp(manifest.id, () => serversIn(config));
  const serve = serveCapabilities(manifest.id, manifest, {
    fetch: hostFetch,
    tcp,
    secret: async (name) => (typeof maskedSecrets[name] === "string" ? maskedSecrets[name] : null),
    embed: (texts) => process.capabilities.embed?.(texts) ?? Promise.resolve([]),
    operations: { call: (id, input) => (process.capabilities.operations as Capabilities["operations"]).call(id, input) },
    trackers: {
      configured: () => process.capabilities.trackers?.configured() ?? [],
      createIssue: async (...args) => process.capabilities.trackers?.createIssue(...args) ?? null,
      projectId: async (...args) => process.capabilities.trackers?.projectId(...args) ?? args[1],
      closeIssue: async (...args) => process.capabilities.trackers?.closeIssue(...args) ?? false,
    },
  });
  const { vectors, trackers } = capabilities;
  process.sandbox = await openSandbox({
    bundle,
    serve,
    name: manifest.id,
    memoryMb: manifest.limits.memory_mb,
    mask: placeholders.mask,
    callMs: manifest.limits.call_ms,
    config: { ...config, ...maskedSecrets },
    facts: { ...(vectors && { vectors: JSON.parse(JSON.stringify(vectors)) }), trackers: trackers?.configured() ?? [] },
    onNotification: (method, params) => {
      const { message, fields } = params as { message: string; fields: Record<string, never> };
      if (method === "log") process.capabilities.log?.(message, fields);
    },
  });
  void process.sandbox.whenExited.then(() => {
    tcp.closeAll();
    process.hasExited = true;
  });
  return process as Process;
}

/** Sends requests for any host to the case's tracker, or if it has none, to the recordings. */
const fetchFor =
  (state: RunState): Fetch =>
  async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    state.usedHosts.add(`${init?.method ?? "GET"} ${url.host}`);
    const { tracker } = state;
    if (!tracker || url.host === new URL(tracker.url).host || tracker.url === unlisted) return state.fetch(input, init);
    return globalThis.fetch(new URL(url.pathname + url.search, tracker.url), init);
  };

/**
 * Sends requests for a host in the settings. If the case has a tracker, or recordings, these answer, because the real server does
 * not fail when a case needs it to. A store or a queue is a test server at its own address.
 */
const settingsFetchFor =
  (state: RunState): Fetch =>
  async (input, init) => {
    const { host } = new URL(input instanceof Request ? input.url : input);
    const isAnswered = state.tracker !== null && host !== new URL(state.tracker.url).host;
    return isAnswered ? fetchFor(state)(input, init) : globalThis.fetch(input, init);
  };
/** Address of a tracker that has no server: the recordings answer. */
const unlisted = "http://127.0.0.1:9";

/**
 * The host checks a declared signature before it calls `verify`. Here `verify` is tested alone; otherwise a `verify` that accepts
 * everything would pass.
 */
function bareSources({ sandbox, mask }: Process, { contributes }: BuiltManifest): Record<string, Source> {
  const declared = Object.entries(contributes.sources);
  const unsigned = declared.map(([name, { signature: _, ...source }]) => [name, source] as const);
  const bare = contributionsOf({ ...contributes, sources: Object.fromEntries(unsigned) }, sandbox.call, mask).sources ?? {};
  return Object.fromEntries(
    declared.map(([name, { signature }]) => [name, { ...bare[name], ...(signature && { signature }) } as Source]),
  );
}

/** The sandbox's own proxies check only the kinds of values. Here the schemas are complete, because the suites read them. */
function withSchemas(contributions: Contributions, contributes: BuiltManifest["contributes"]): Contributions {
  const schema = (jsonSchema: object) => z.fromJSONSchema(jsonSchema as never) as unknown as z.ZodObject;
  const tools = Object.entries(contributions.tools ?? {}).map(([name, tool]): [string, Tool] => {
    const { input, output } = contributes.tools[name] as { input: object; output: object };
    return [name, { ...tool, input: schema(input), output: schema(output) } as unknown as Tool];
  });
  const sources = Object.entries(contributions.sources ?? {}).map(([name, source]): [string, Source] => {
    const { connection } = contributes.sources[name] as { connection: object };
    return [name, { ...source, connection: schema(connection) } as Source];
  });
  return { ...contributions, tools: Object.fromEntries(tools), sources: Object.fromEntries(sources) };
}
