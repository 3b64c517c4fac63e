import type { Contributions } from "@signalbox/sdk";
import { Refusal } from "../admit.ts";
import type { Caller, Mask } from "./caller.ts";
import { Calls, rejectUnavailable } from "./calls.ts";
import { type Child, type Exit, startChild } from "./child.ts";
import { contributionsOf } from "./contributions.ts";
import { type BundleDeclaration, type InitializeOptions, initialize } from "./initialize.ts";
import { type IsolationLayer, requireIsolation, workingIsolation } from "./isolation.ts";
import { type Isolation, launchOf } from "./launch.ts";
import { limits } from "./limits.ts";
import { checkAlive } from "./liveness.ts";
import { Peer, type Serve } from "./peer.ts";

interface SandboxOptions extends InitializeOptions {
  /** Path of the only file that the process may read. */
  readonly bundle: string;
  /** Path of the Deno binary. Default: it is searched for. */
  readonly deno?: string | undefined;
  /** Layers to use instead of the strongest that work. */
  readonly isolation?: Isolation | undefined;
  /** Whether to refuse to start if an isolation layer is missing: `PLUGIN_WALLS=require`. */
  readonly requiresIsolation?: boolean | undefined;
  readonly memoryMb?: number | undefined;
  /** Deadline of one call, milliseconds. */
  readonly callMs?: number | undefined;
  /** Answers the plugin's requests: `fetch`, `secret` …; see `serveCapabilities`. */
  readonly serve?: Serve | undefined;
  readonly onNotification?: ((method: string, params: unknown) => void) | undefined;
  readonly mask?: Mask | undefined;
}

/** A process with one plugin that is set up. */
export interface Sandbox {
  readonly declaration: BundleDeclaration;
  readonly contributions: Contributions;
  readonly call: Caller;
  /** The isolation layers of the operating system, including missing ones. */
  readonly layers: readonly IsolationLayer[];
  readonly pid: number | undefined;
  /** Resident memory in bytes; `null` if the system does not report it. */
  memory(): number | null;
  /** Resolves when the process ended. */
  readonly whenExited: Promise<Exit>;
  kill(reason: string): void;
  /** Accepts no new calls, waits for the running ones, calls `dispose` and ends the process. */
  close(drainMs?: number): Promise<void>;
}

/**
 * Starts a bundle in a separate process, sets it up and reads its declaration. Throws a `Refusal` with the boot's code
 * (`NOT_A_PLUGIN`, `UNKNOWN_CONTRACT`, `BAD_CONFIG`, `SETUP_FAILED` …), `SETUP_TIMEOUT`, or `NO_SANDBOX` if there is no Deno.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { bundle, name, deno, memoryMb = 64, callMs = 30_000 } = options;
  const { isolation, layers } = options.isolation
    ? { isolation: options.isolation, layers: [] }
    : await workingIsolation(bundle, deno);
  if (options.requiresIsolation) requireIsolation(layers);
  const launch = launchOf({ deno, bundle, memoryMb, isolation });
  const { config } = options;
  const capability = options.serve ?? rejectUnavailable;
  let settingsId: string | null = null;
  const serve: Serve = async (method, params, signal) => {
    if (method === "settings" && typeof config === "function" && settingsId === null) {
      // Allowed only once, so that the plugin cannot read the settings of another one.
      settingsId = String((params as { id?: unknown } | null)?.id);
      return config(settingsId);
    }
    if (method === "fetch") return calls.runInFence(params, () => capability(method, params, signal));
    return method === "save" ? calls.save(params) : capability(method, params, signal);
  };
  const child: Child = startChild({ launch, memoryMb, onLine: (line) => peer.receive(line) });
  const peer = new Peer({ name, child: () => child, serve, onNotification: options.onNotification ?? (() => {}) });
  const calls = new Calls({ name, child, peer, callMs });
  void child.whenExited.then(({ reason }) => peer.close(reason));

  const declaration = await initialize(options, child, peer.request);
  if (settingsId !== null && settingsId !== declaration.plugin.id) {
    child.kill("it was refused");
    throw new Refusal(
      "BAD_CONTRIBUTION",
      `The plugin asked for the settings of ${settingsId} and then declared the id ${declaration.plugin.id}.`,
    );
  }
  const watch = setInterval(() => void checkAlive(child, peer, limits.pingMs), limits.pingEveryMs);
  void child.whenExited.then(() => clearInterval(watch));
  const { call } = calls;
  return {
    declaration,
    call,
    layers,
    contributions: contributionsOf(declaration.contributes, call, options.mask ?? ((settings) => ({ ...settings }))),
    whenExited: child.whenExited,
    pid: child.pid,
    memory: child.memory,
    kill: child.kill,
    close: async (drainMs = limits.drainMs) => {
      const until = Date.now() + drainMs;
      await calls.drain(until);
      await peer.request("dispose", {}, { deadlineMs: Math.max(100, until - Date.now()) }).catch(() => {});
      child.end();
      const timer = setTimeout(() => child.kill("it did not end in time"), 1_000);
      await child.whenExited;
      clearTimeout(timer);
    },
  };
}
