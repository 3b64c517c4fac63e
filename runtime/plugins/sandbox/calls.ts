import { setTimeout as sleep } from "node:timers/promises";
import { PluginError } from "@signalbox/sdk";
import { currentFence, joinFences, runFenced, type WriteFence } from "../../platform/write-fence.ts";
import type { Caller } from "./caller.ts";
import type { Child } from "./child.ts";
import { limits } from "./limits.ts";
import { checkAlive, watchDeadline } from "./liveness.ts";
import { type Peer, processEnded, RemoteError } from "./peer.ts";

interface CallsOptions {
  /** The plugin's name in messages. */
  readonly name: string;
  readonly child: Child;
  readonly peer: Peer;
  /** Deadline of one call, in milliseconds. */
  readonly callMs: number;
}

type Save = (state: never) => Promise<void>;

/** The running calls of one process, by the ids of their requests. */
export class Calls {
  readonly #options: CallsOptions;
  readonly #saves = new Map<number, Save>();
  /** The fence of each call; `null` for a call without one. */
  readonly #fences = new Map<number, WriteFence | null>();
  #underWay = 0;
  #closing = false;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  readonly call: Caller = async (target, args, { call, signal, save } = {}) => {
    const { name, child, peer, callMs } = this.#options;
    if (this.#closing) throw processEnded(name, "it is being stopped");
    let id = 0;
    const fence = currentFence() ?? null;
    const onId = (sent: number) => {
      id = sent;
      if (save) this.#saves.set(id, save);
      this.#fences.set(id, fence);
    };
    this.#underWay += 1;
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
      this.#saves.delete(id);
      this.#fences.delete(id);
      this.#underWay -= 1;
    }
  };

  /**
   * Runs a request of the process under the fence of the call that it belongs to. The process names that call; a request that
   * names no running call must pass the fences of all of them.
   */
  runInFence(params: unknown, request: () => Promise<unknown>): Promise<unknown> {
    const own = this.#fences.get((params as { call?: number } | null)?.call ?? -1);
    const others = () => [...this.#fences.values()].filter((fence) => fence !== null);
    const all = own === undefined ? others() : own === null ? [] : [own];
    return all.length === 0 ? request() : runFenced(joinFences(all), request);
  }

  /** Stores the state that a call has reached. */
  async save(params: unknown): Promise<void> {
    const { call, state } = params as { call: number; state: never };
    await (this.#saves.get(call) ?? rejectUnavailable)(state);
  }

  /** Accepts no new calls, and waits for the running ones. `until`: when the wait ends, by `Date.now()`. */
  async drain(until: number): Promise<void> {
    this.#closing = true;
    while (this.#underWay > 0 && Date.now() < until) await sleep(20);
  }
}

export const rejectUnavailable = (): Promise<never> =>
  Promise.reject(new PluginError("failed", "This capability is not available here."));
