import type { Contributions } from "@signalbox/sdk";
import { PluginError } from "@signalbox/sdk";
import { type DeclaredContributions, declaredContributions } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { currentFence, runFenced, sendUnder, type WriteFence } from "../../platform/write-fence.ts";
import { Refusal, type RefusalCode } from "../admit.ts";
import { type Child, type Exit, startChild } from "./child.ts";
import { type Caller, contributionsOf, type Mask } from "./contributions.ts";
import { walls as wallsThatWork } from "./isolation.ts";
import { launchOf, type Walls } from "./launch.ts";
import { limits } from "./limits.ts";
import { stillThere, watchDeadline } from "./liveness.ts";
import { createPeer, gone, Remote, type Serve } from "./peer.ts";

/** Majors of the messages that this host speaks; the process picks the highest that it knows too. */
export const protocols: readonly number[] = [1];

/** What a bundle says about itself, checked for its shape and nothing else. */
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
  /** Path of the one file; all that the process may read. */
  readonly bundle: string;
  /** How it is named in messages. */
  readonly name: string;
  /** Path of the Deno binary; found by itself without. */
  readonly deno?: string | undefined;
  readonly walls?: Walls | undefined;
  readonly memoryMb?: number | undefined;
  /** Deadline of one call, milliseconds. */
  readonly callMs?: number | undefined;
  /** The plugin's own settings, or how they are found once it said its id. */
  readonly config?: Readonly<Record<string, unknown>> | ((id: string) => Readonly<Record<string, unknown>>) | undefined;
  /** What the capabilities answer with that do not ask: `vectors`, and the names of the trackers. */
  readonly facts?: Readonly<Record<string, unknown>> | undefined;
  /** Answers what the plugin asks: `fetch`, `secret` …; see `serveCapabilities`. */
  readonly serve?: Serve | undefined;
  readonly notified?: ((method: string, params: unknown) => void) | undefined;
  readonly mask?: Mask | undefined;
}

/** One process with one plugin, set up. */
export interface Sandbox {
  readonly described: Described;
  readonly contributions: Contributions;
  readonly call: Caller;
  /** Walls of the operating system that it stands behind. */
  readonly walls: Walls;
  readonly pid: number | undefined;
  /** Resident memory, bytes; `null` where the system does not tell. */
  memory(): number | null;
  /** Lines that meant nothing, so far. */
  dropped(): number;
  /** Resolves when the process is gone, whoever ended it. */
  readonly exited: Promise<Exit>;
  kill(reason: string): void;
  /** No new calls; those under way may finish, then `dispose` is called and the process ends. */
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
  const walls = options.walls ?? (await wallsThatWork(bundle, deno));
  const launch = launchOf({ deno, bundle, memoryMb, walls });
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
      // Once: another's settings are none of its business.
      asked = String((params as { id?: unknown } | null)?.id);
      return config(asked);
    }
    if (method === "fetch") return fenced(params, () => (options.serve ?? nobody)(method, params, signal));
    if (method !== "save") return (options.serve ?? nobody)(method, params, signal);
    const { call, state } = params as { call: number; state: never };
    await (saves.get(call) ?? nobody)(state);
  };
  const child: Child = startChild({ launch, memoryMb, onLine: (line) => peer.take(line) });
  const peer = createPeer({ name, child: () => child, serve, notified: options.notified ?? (() => {}) });
  void child.exited.then(({ reason }) => peer.close(reason));

  const described = await initialize(options, child, peer.request);
  if (asked !== null && asked !== described.plugin.id) {
    child.kill("it was not taken in");
    throw new Refusal("BAD_CONTRIBUTION", `It said it was ${asked}, and then ${described.plugin.id}.`);
  }
  let underWay = 0;
  let closing = false;
  const call: Caller = async (target, args, { call, signal, save } = {}) => {
    if (closing) throw gone(name, "it is being stopped");
    let id = 0;
    const fence = currentFence() ?? null;
    const onId = (sent: number) => {
      id = sent;
      if (save) saves.set(id, save);
      fences.set(id, fence);
    };
    underWay += 1;
    const done = watchDeadline(child, peer.request, callMs);
    try {
      const params = { ...target, args, ...(call && { call }), deadline_ms: callMs };
      return await peer.request("call", params, { deadlineMs: callMs, signal, onId });
    } catch (error) {
      if (!signal?.aborted) throw error instanceof Remote ? error.toPluginError() : error;
      // Whoever asked gave up: perhaps because it hangs.
      void stillThere(child, peer.request, limits.silenceMs);
      // As a plugin in this process would tell of it.
      throw new PluginError("timeout", `${name} did not answer before the deadline`);
    } finally {
      done();
      saves.delete(id);
      fences.delete(id);
      underWay -= 1;
    }
  };
  const watch = setInterval(() => void stillThere(child, peer.request, limits.pingMs), limits.pingEveryMs);
  void child.exited.then(() => clearInterval(watch));
  return {
    ...{
      described,
      call,
      walls,
      exited: child.exited,
      kill: child.kill,
      pid: child.pid,
      memory: child.memory,
      dropped: peer.dropped,
    },
    contributions: contributionsOf(described.contributes, call, options.mask ?? ((settings) => ({ ...settings }))),
    close: async (drainMs = limits.drainMs) => {
      closing = true;
      const until = Date.now() + drainMs;
      while (underWay > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
      await peer.request("dispose", {}, { deadlineMs: Math.max(100, until - Date.now()) }).catch(() => {});
      child.end();
      const timer = setTimeout(() => child.kill("it did not end when it was told to"), 1_000);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

const nobody = (): Promise<never> => Promise.reject(new PluginError("failed", "This host offers no such capability here."));

type Request = ReturnType<typeof createPeer>["request"];

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
      throw new Refusal(
        "BAD_CONTRIBUTION",
        `${name}: what it declares is not valid: ${issue?.path.join(".")}: ${issue?.message}`,
      );
    }
    if (!protocols.includes(parsed.data.protocol))
      throw new Refusal(
        "UNKNOWN_PROTOCOL",
        `Expected protocol ${protocols.join(" or ")}; the process of ${name} answered ${parsed.data.protocol}.`,
      );
    return parsed.data;
  } catch (error) {
    child.kill("it was not taken in");
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
  if (error instanceof Remote) {
    const code = (bootCodes.includes(error.code) ? error.code : "SETUP_FAILED") as RefusalCode;
    return new Refusal(code, error.message, error);
  }
  if (error instanceof PluginError && error.code === "timeout")
    return new Refusal("SETUP_TIMEOUT", `${name}: setup took longer than ${limits.initializeMs} ms.`, error);
  const said = stderr.trim().slice(-1_000);
  return new Refusal("SETUP_FAILED", `${error instanceof Error ? error.message : error}${said && `; it wrote: ${said}`}`, error);
}
