import type { Contributions, OperationsAccess, SharedThrottle, TrackersAccess, VectorSettings } from "@signalbox/sdk";
import type { BuiltManifest } from "@signalbox/sdk/manifest";
import type { Log } from "../platform/log.ts";
import { admitDeclared, Refusal } from "./admit.ts";
import { cachedBundle } from "./bundle-cache.ts";
import type { LogTail } from "./log-tail.ts";
import { contributionsOf } from "./sandbox/contributions.ts";
import { createHostFetch } from "./sandbox/host-fetch.ts";
import type { Walls } from "./sandbox/launch.ts";
import { openSandbox, type Sandbox } from "./sandbox/open.ts";
import { createStandIns } from "./sandbox/placeholders.ts";
import { logLines, serveCapabilities } from "./sandbox/serve-capabilities.ts";
import { type ProcessStatus, Supervised } from "./sandbox/supervise.ts";
import { settingNames } from "./setting-names.ts";
import { hostsIn } from "./settings-hosts.ts";

/** What the host has for the plugins of others. */
export interface ForeignGround {
  /** Path of the Deno binary, where the operator names one. */
  readonly deno: string | undefined;
  /** A plugin's settings and credentials, as the operator set them. */
  readonly settingsOf: (id: string) => Readonly<Record<string, string>>;
  /** Hosts of its connections: those of the environment, and those that users gave. */
  readonly hostsOf: (id: string) => readonly string[];
  readonly userHostsOf: (id: string) => readonly string[];
  /** Reaches only what user-given addresses may reach. */
  readonly guarded: typeof globalThis.fetch;
  /** For hosts that the operator named. */
  readonly direct: typeof globalThis.fetch;
  readonly embed: (texts: readonly string[]) => Promise<number[][]>;
  readonly operations: OperationsAccess | undefined;
  readonly trackers: TrackersAccess | undefined;
  readonly pace?: SharedThrottle;
  readonly vectors: VectorSettings | undefined;
  readonly log: Log;
  readonly logs: LogTail;
}

export interface SandboxedPlugin {
  readonly manifest: BuiltManifest;
  readonly contributions: Contributions;
  readonly process: Supervised;
}

/** A plugin in a process of its own, not started yet. `changed` is told of every change of its state. */
export function sandboxed(
  manifest: BuiltManifest,
  bytes: Uint8Array,
  ground: ForeignGround,
  changed: (status: ProcessStatus) => void,
): SandboxedPlugin {
  const { id, version, limits } = manifest;
  const settings = () => declaredOnly(manifest, ground.settingsOf(id));
  // The stand-ins outlive a process: settings that were handed out stay valid over its restart.
  const standIns = createStandIns(manifest.secrets, settings);
  const fetch = createHostFetch(
    id,
    {
      permissions: manifest.permissions.http,
      guarded: ground.guarded,
      direct: ground.direct,
      operatorHosts: () => [...ground.hostsOf(id), ...hostsIn(settings())],
      userHosts: () => ground.userHostsOf(id),
    },
    standIns,
  );
  const secret = async (name: string) => {
    const given = settings();
    const value = Object.hasOwn(manifest.secrets, name) && Object.hasOwn(given, name) ? given[name] : undefined;
    return value === undefined ? null : String(standIns.mask({ [name]: value })[name]);
  };
  const { operations, trackers, vectors, embed, pace } = ground;
  const serve = serveCapabilities(id, manifest, {
    fetch,
    secret,
    embed,
    ...(operations && { operations }),
    ...(trackers && { trackers }),
    ...(pace && { throttle: pace }),
  });
  const open = async (): Promise<Sandbox> => {
    const { file } = cachedBundle(bytes);
    const sandbox = await openSandbox({
      ...{
        bundle: file,
        name: id,
        deno: ground.deno,
        serve,
        mask: standIns.mask,
        notified: logLines(id, ground.log, ground.logs),
      },
      ...{ memoryMb: limits.memory_mb, callMs: limits.call_ms, config: standIns.mask(settings()) },
      facts: { vectors: vectors && factsOf(vectors), trackers: trackers?.configured() ?? [] },
    });
    warnOfWeakness(sandbox.walls, ground.log);
    let told = false;
    void sandbox.exited.then(({ reason, stderr }) =>
      ground.logs.add(id, told ? `${version} was stopped` : `its process ended: ${reason}`, stderr ? { stderr } : {}),
    );
    try {
      checkSame(manifest, sandbox);
    } catch (error) {
      sandbox.kill("it was not taken in");
      throw error;
    }
    ground.logs.add(id, `${version} was started`, {});
    const close: Sandbox["close"] = (drainMs) => {
      told = true;
      return sandbox.close(drainMs);
    };
    return { ...sandbox, close };
  };
  const process = new Supervised({ name: id, open, concurrency: limits.concurrency, changed });
  return { manifest, process, contributions: contributionsOf(manifest.contributes, process.call, standIns.mask) };
}

let warned = false;

/** Once: what the sandbox has to do without here. */
function warnOfWeakness({ prlimit, setpriv }: Walls, log: Log): void {
  if (warned || process.platform !== "linux" || (prlimit && setpriv)) return;
  warned = true;
  const missing = [...(prlimit ? [] : ["prlimit"]), ...(setpriv ? [] : ["setpriv"])].join(" and ");
  log.warn(`plugins run without ${missing} (util-linux), which is missing or not permitted here: Deno's permissions serve alone`);
}

/** What ran must be what was approved. */
function checkSame(manifest: BuiltManifest, { described: { plugin, contract } }: Sandbox): void {
  const { id, version } = manifest;
  if (plugin.id !== id || plugin.version !== version)
    throw new Refusal("BAD_CONTRIBUTION", `Expected the bundle to be ${id} ${version}; it says ${plugin.id} ${plugin.version}.`);
  admitDeclared({ ...plugin, contract }, new Set());
  const more = plugin.needs.filter((need) => !manifest.needs.includes(need));
  if (more.length > 0) throw new Refusal("UNKNOWN_NEED", `${id}: its manifest does not name what it needs: ${more.join(", ")}.`);
}

/** The settings that the manifest names: whoever approved it saw these. */
function declaredOnly(manifest: BuiltManifest, all: Readonly<Record<string, string>>): Record<string, string> {
  const names = settingNames(manifest);
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)));
}

const factsOf = ({ dimension, metric, model, type, operator }: VectorSettings) => ({ dimension, metric, model, type, operator });
