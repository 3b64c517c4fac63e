import type { Contributions } from "@signalbox/sdk";
import { PluginError } from "@signalbox/sdk";
import { type DeclaredContributions, declaredContributions } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { currentFence, runFenced, sendUnder, type WriteFence } from "../../platform/write-fence.ts";
import { Refusal, type RefusalCode } from "../admit.ts";
import { type Child, type Exit, startChild } from "./child.ts";
import { type Caller, contributionsOf, type Mask } from "./contributions.ts";
import { type IsolationLayer, requireIsolation, workingIsolation } from "./isolation.ts";
import { type Isolation, launchOf } from "./launch.ts";
import { limits } from "./limits.ts";
import { checkAlive, watchDeadline } from "./liveness.ts";
import { Peer, processEnded, RemoteError, type Serve } from "./peer.ts";

/** Major versions of the protocol that this host speaks; the process picks the highest that it knows too. */
export const protocols: readonly number[] = [1];

/** What a bundle declares about itself; only its shape is checked. */
export interface Described {
  readonly plugin: {
    readonly id: string;
    readonly version: string;
    readonly sdk: string;
    readonly about?: string | undefined;
    readonly needs: readonly string[];
    readonly hosts: readonly string[];
  };
  readonly protocol: number;
  readonly contract: number;
  /** Version of the sdk in the bundle. */
  readonly stamped_sdk: string;
  /** JSON Schema of its own settings. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly contributes: DeclaredContributions;
}

export interface SandboxOptions {
  /** Path of the one file that the process may read. */
  readonly bundle: string;
  /** The plugin's name in messages. */
  readonly name: string;
  /** Path of the Deno binary. Default: it is searched for. */
  readonly deno?: string | undefined;
  /** Layers to use in place of the strongest that work. */
  readonly isolation?: Isolation | undefined;
  /** Refuse to start where an isolation layer is missing: `PLUGIN_WALLS=require`. */
  readonly requiresIsolation?: boolean | undefined;
  readonly memoryMb?: number | undefined;
  /** Deadline of one call, milliseconds. */
  readonly callMs?: number | undefined;
  /** The plugin's settings, or a function that finds them by the id that the plugin declares. */
  readonly config?: Readonly<Record<string, unknown>> | ((id: string) => Readonly<Record<string, unknown>>) | undefined;
  /** Values of the capabilities that need no request to the host: `vectors`, and the names of the trackers. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
  /** Answers the plugin's requests: `fetch`, `secret` …; see `serveCapabilities`. */
  readonly serve?: Serve | undefined;
  readonly notified?: ((method: string, params: unknown) => void) | undefined;
  readonly mask?: Mask | undefined;
}

/** One process with one plugin, set up. */
export interface Sandbox {
  readonly described: Described;
  readonly contributions: Contributions;
  readonly call: Caller;
  /** The isolation layers of the operating system, those that are missing too. */
  readonly layers: readonly IsolationLayer[];
  readonly pid: number | undefined;
  /** Resident memory, bytes; `null` where the system does not tell. */
  memory(): number | null;
  /** Number of lines that were no valid message. */
  dropped(): number;
  /** Resolves when the process ended. */
  readonly exited: Promise<Exit>;
  kill(reason: string): void;
  /** Takes no new calls, waits for the running ones, calls `dispose` and ends the process. */
  close(drainMs?: number): Promise<void>;
}

const shape = z.object({
  protocol: z.int(),
  contract: z.int(),
  stamped_sdk: z.string().max(100),
  plugin: z.object({
    id: z.string().regex(/^[a-z][a-z0-9-]{0,62}$/),
    version: z.string().max(100),
    sdk: z.string().max(100),
    about: z.string().max(10_000).optional(),
    needs: z.array(z.string().max(100)).max(100),
    hosts: z.array(z.string().max(300)).max(1_000).default([]),
  }),
  config: z.looseObject({}),
  contributes: declaredContributions,
});

/**
 * Starts a bundle in a process of its own, sets it up and describes it. Throws a `Refusal` with the boot's code
 * (`NOT_A_PLUGIN`, `UNKNOWN_CONTRACT`, `BAD_CONFIG`, `SETUP_FAILED` …), `SETUP_TIMEOUT`, or `NO_SANDBOX` where there is no Deno.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { bundle, name, deno, memoryMb = 64, callMs = 30_000 } = options;
  const { isolation, layers } = options.isolation
    ? { isolation: options.isolation, layers: [] }
    : await workingIsolation(bundle, deno);
  if (options.requiresIsolation) requireIsolation(layers);
  const launch = launchOf({ deno, bundle, memoryMb, isolation });
  const saves = new Map<number, (state: never) => Promise<void>>();
  const { config } = options;
  let asked: string | null = null;
  /** The fences of the calls under way, by their ids; `null` for a call without one. */
  const fences = new Map<number, WriteFence | null>();
  /**
   * Runs a request under the fence of the call that it belongs to. The process names that call; a request that names none of
   * those under way must pass the fences of all of them.
   */
  const fenced = (params: unknown, request: () => Promise<unknown>): Promise<unknown> => {
    const own = fences.get((params as { call?: number } | null)?.call ?? -1);
    const all = own === undefined ? [...fences.values()].filter((fence) => fence !== null) : own === null ? [] : [own];
    return all.length === 0 ? request() : runFenced({ send: (send) => sendUnder(all, send) }, request);
  };
  const serve: Serve = async (method, params, signal) => {
    if (method === "settings" && typeof config === "function" && asked === null) {
      // Once only, so that it cannot read the settings of another plugin.
      asked = String((params as { id?: unknown } | null)?.id);
      return config(asked);
    }
    if (method === "fetch") return fenced(params, () => (options.serve ?? unavailable)(method, params, signal));
    if (method !== "save") return (options.serve ?? unavailable)(method, params, signal);
    const { call, state } = params as { call: number; state: never };
    await (saves.get(call) ?? unavailable)(state);
  };
  const child: Child = startChild({ launch, memoryMb, onLine: (line) => peer.receive(line) });
  const peer = new Peer({ name, child: () => child, serve, notified: options.notified ?? (() => {}) });
  void child.exited.then(({ reason }) => peer.close(reason));

  const described = await initialize(options, child, peer.request);
  if (asked !== null && asked !== described.plugin.id) {
    child.kill("it was refused");
    throw new Refusal(
      "BAD_CONTRIBUTION",
      `The plugin asked for the settings of ${asked} and then declared the id ${described.plugin.id}.`,
    );
  }
  let underWay = 0;
  let closing = false;
  const call: Caller = async (target, args, { call, signal, save } = {}) => {
    if (closing) throw processEnded(name, "it is being stopped");
    let id = 0;
    const fence = currentFence() ?? null;
    const onId = (sent: number) => {
      id = sent;
      if (save) saves.set(id, save);
      fences.set(id, fence);
    };
    underWay += 1;
    const done = watchDeadline(child, peer, callMs);
    try {
      const params = { ...target, args, ...(call && { call }), deadline_ms: callMs };
      return await peer.request("call", params, { deadlineMs: callMs, signal, onId });
    } catch (error) {
      if (!signal?.aborted) throw error instanceof RemoteError ? error.toPluginError() : error;
      // The caller may have stopped waiting because the process hangs.
      void checkAlive(child, peer, limits.silenceMs);
      throw new PluginError("timeout", `${name} did not answer before the deadline`);
    } finally {
      done();
      saves.delete(id);
      fences.delete(id);
      underWay -= 1;
    }
  };
  const watch = setInterval(() => void checkAlive(child, peer, limits.pingMs), limits.pingEveryMs);
  void child.exited.then(() => clearInterval(watch));
  return {
    ...{
      described,
      call,
      layers,
      exited: child.exited,
      kill: child.kill,
      pid: child.pid,
      memory: child.memory,
      dropped: () => peer.dropped,
    },
    contributions: contributionsOf(described.contributes, call, options.mask ?? ((settings) => ({ ...settings }))),
    close: async (drainMs = limits.drainMs) => {
      closing = true;
      const until = Date.now() + drainMs;
      while (underWay > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
      await peer.request("dispose", {}, { deadlineMs: Math.max(100, until - Date.now()) }).catch(() => {});
      child.end();
      const timer = setTimeout(() => child.kill("it did not end in time"), 1_000);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

const unavailable = (): Promise<never> =>
  Promise.reject(new PluginError("failed", "This host does not offer this capability here."));

type Request = Peer["request"];

async function initialize(options: SandboxOptions, child: Child, request: Request): Promise<Described> {
  const { name, config = {}, facts = {} } = options;
  try {
    const answer = await request(
      "initialize",
      { protocols, config: typeof config === "function" ? null : config, facts },
      { deadlineMs: limits.initializeMs },
    );
    const parsed = shape.safeParse(answer);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw new Refusal("BAD_CONTRIBUTION", `${name}: the declaration is not valid: ${issue?.path.join(".")}: ${issue?.message}`);
    }
    if (!protocols.includes(parsed.data.protocol))
      throw new Refusal(
        "UNKNOWN_PROTOCOL",
        `Expected protocol ${protocols.join(" or ")}; the process of ${name} answered ${parsed.data.protocol}.`,
      );
    return parsed.data;
  } catch (error) {
    child.kill("it was refused");
    const { stderr } = await child.exited;
    throw refusalOf(name, error, stderr);
  }
}

const bootCodes: readonly string[] = [
  "NOT_A_PLUGIN",
  "UNKNOWN_CONTRACT",
  "UNKNOWN_PROTOCOL",
  "BAD_CONFIG",
  "SETUP_FAILED",
  "NOT_FOUND",
] satisfies RefusalCode[];

function refusalOf(name: string, error: unknown, stderr: string): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof RemoteError) {
    const code = (bootCodes.includes(error.code) ? error.code : "SETUP_FAILED") as RefusalCode;
    return new Refusal(code, error.message, error);
  }
  if (error instanceof PluginError && error.code === "timeout")
    return new Refusal("SETUP_TIMEOUT", `${name}: setup took longer than ${limits.initializeMs} ms.`, error);
  const said = stderr.trim().slice(-1_000);
  return new Refusal(
    "SETUP_FAILED",
    `${error instanceof Error ? error.message : error}${said && `; standard error: ${said}`}`,
    error,
  );
}
