import type { Contributions, OperationsAccess, SharedThrottle, TrackersAccess, VectorSettings } from "@signalbox/sdk";
import type { BuiltManifest } from "@signalbox/sdk/manifest";
import type { Log } from "../platform/log.ts";
import { openTcp } from "../platform/network/tcp.ts";
import { admitDeclared, Refusal } from "./admit.ts";
import { cachedBundle } from "./bundle-cache.ts";
import type { LogTail } from "./log-tail.ts";
import { contributionsOf } from "./sandbox/contributions.ts";
import { createHostFetch } from "./sandbox/host-fetch.ts";
import type { IsolationLayer } from "./sandbox/isolation.ts";
import { openSandbox, type Sandbox } from "./sandbox/open.ts";
import { createPlaceholders } from "./sandbox/placeholders.ts";
import { logLines, serveCapabilities } from "./sandbox/serve-capabilities.ts";
import { type ProcessStatus, SupervisedProcess } from "./sandbox/supervise.ts";
import { settingNames } from "./setting-names.ts";
import { hostsIn, serversIn } from "./settings-hosts.ts";

/** The services that the host offers to sandboxed plugins. */
export interface SandboxDependencies {
  /** Path of the Deno binary, if the operator names one. */
  readonly deno: string | undefined;
  /** A plugin's settings and credentials, as the operator set them. */
  readonly settingsOf: (id: string) => Readonly<Record<string, string>>;
  /** Whether to refuse to start plugins if an isolation layer is missing. */
  readonly requiresIsolation?: boolean;
  /** Hosts of its connections from the environment and from integrations. */
  readonly hostsOf: (id: string) => readonly string[];
  readonly userHostsOf: (id: string) => readonly string[];
  /** Connects only to public addresses and those in `ALLOW_PRIVATE_ADDRESSES`. */
  readonly guardedFetch: typeof globalThis.fetch;
  /** For hosts that the operator named in settings: connects to any address. */
  readonly directFetch: typeof globalThis.fetch;
  readonly embed: (texts: readonly string[]) => Promise<number[][]>;
  readonly operations: OperationsAccess | undefined;
  readonly trackers: TrackersAccess | undefined;
  readonly throttle?: SharedThrottle;
  readonly vectors: VectorSettings | undefined;
  readonly log: Log;
  readonly logs: LogTail;
}

/** A plugin in a separate process, not started yet. `onStatus` receives every change of its state. */
export function runSandboxed(
  manifest: BuiltManifest,
  bytes: Uint8Array,
  dependencies: SandboxDependencies,
  onStatus: (status: ProcessStatus) => void,
): { readonly process: SupervisedProcess; readonly contributions: Contributions } {
  const { id, version, limits } = manifest;
  const settings = () => declaredOnly(manifest, dependencies.settingsOf(id));
  // The placeholders outlive a process, so that settings of callers remain valid after a restart.
  const placeholders = createPlaceholders(manifest.secrets, settings);
  const fetch = createHostFetch(
    id,
    {
      permissions: manifest.permissions.http,
      guardedFetch: dependencies.guardedFetch,
      directFetch: dependencies.directFetch,
      operatorHosts: () => [...dependencies.hostsOf(id), ...hostsIn(settings())],
      userHosts: () => dependencies.userHostsOf(id),
    },
    placeholders,
  );
  const secret = async (name: string) => {
    const current = settings();
    const value = Object.hasOwn(manifest.secrets, name) && Object.hasOwn(current, name) ? current[name] : undefined;
    return value === undefined ? null : String(placeholders.mask({ [name]: value })[name]);
  };
  const { operations, trackers, vectors, embed, throttle } = dependencies;
  const capabilities = {
    fetch,
    secret,
    embed,
    ...(operations && { operations }),
    ...(trackers && { trackers }),
    ...(throttle && { throttle }),
  };
  const open = async (): Promise<Sandbox> => {
    const tcp = openTcp(id, () => serversIn(settings()));
    const serve = serveCapabilities(id, manifest, { ...capabilities, tcp });
    const { file } = cachedBundle(bytes);
    const sandbox = await openSandbox({
      bundle: file,
      name: id,
      deno: dependencies.deno,
      requiresIsolation: dependencies.requiresIsolation,
      serve,
      mask: placeholders.mask,
      onNotification: logLines(id, dependencies.log, dependencies.logs),
      memoryMb: limits.memory_mb,
      callMs: limits.call_ms,
      config: placeholders.mask(settings()),
      facts: { vectors: vectors && factsOf(vectors), trackers: trackers?.configured() ?? [] },
    }).catch((error) => {
      tcp.closeAll();
      throw error;
    });
    warnOfMissingLayers(sandbox.layers, dependencies.log);
    let stopped = false;
    void sandbox.whenExited.then(tcp.closeAll);
    void sandbox.whenExited.then(({ reason, stderr }) =>
      dependencies.logs.add(
        id,
        stopped ? `version ${version} stopped` : `version ${version} ended: ${reason}`,
        stderr ? { stderr } : {},
      ),
    );
    try {
      checkSame(manifest, sandbox);
    } catch (error) {
      sandbox.kill("it was refused");
      throw error;
    }
    dependencies.logs.add(id, `version ${version} started`, {});
    const close: Sandbox["close"] = (drainMs) => {
      stopped = true;
      return sandbox.close(drainMs);
    };
    return { ...sandbox, close };
  };
  const process = new SupervisedProcess({ name: id, open, concurrency: limits.concurrency, onStatus });
  return { process, contributions: contributionsOf(manifest.contributes, process.call, placeholders.mask) };
}

let hasWarned = false;

/** Logs once which isolation layers are missing for plugins on this machine. */
function warnOfMissingLayers(layers: readonly IsolationLayer[], log: Log): void {
  const missing = layers.filter(({ active }) => !active);
  if (hasWarned || process.platform !== "linux" || missing.length === 0) return;
  hasWarned = true;
  const named = Object.fromEntries(missing.map(({ layer, reason }) => [layer, reason]));
  log.warn("plugins run with fewer isolation layers than this service supports", { missing: named });
}

/** Compares the declaration of the bundle with the approved manifest. Throws a `Refusal`. */
function checkSame(manifest: BuiltManifest, { declaration: { plugin, contract } }: Sandbox): void {
  const { id, version } = manifest;
  if (plugin.id !== id || plugin.version !== version)
    throw new Refusal(
      "BAD_CONTRIBUTION",
      `The bundle must declare ${id} ${version}; it declares ${plugin.id} ${plugin.version}.`,
    );
  admitDeclared({ ...plugin, contract }, new Set());
  const more = plugin.needs.filter((need) => !manifest.needs.includes(need));
  if (more.length > 0)
    throw new Refusal(
      "UNKNOWN_NEED",
      `${id}: the bundle needs capabilities that its manifest does not name: ${more.join(", ")}.`,
    );
}

/** The settings that the manifest declares: the operator approved these. */
function declaredOnly(manifest: BuiltManifest, all: Readonly<Record<string, string>>): Record<string, string> {
  const names = settingNames(manifest);
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}

const factsOf = ({ dimension, metric, model, type, operator }: VectorSettings) => ({ dimension, metric, model, type, operator });
