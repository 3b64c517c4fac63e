import { PluginError as Failure, type PluginError, type PluginErrorCode, pluginErrorCodes } from "@signalbox/sdk";
import { toWire } from "./boot/errors.ts";
import type { Child } from "./child.ts";
import { Allowance, limits } from "./limits.ts";
import { type Message, readMessage } from "./read-message.ts";

/** Answers a plugin's request; `id` is its own number, under which it may cancel. */
export type Serve = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;

export interface AskOptions {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Told under which id it goes, by which the process may refer to it. */
  readonly onId?: ((id: number) => void) | undefined;
}

/** JSON-RPC 2.0 in lines, with a process that is not believed. */
export interface Peer {
  /** Asks; rejects with a `PluginError`, or a `Remote` that carries a boot's code. `signal` tells the process to stop. */
  request(method: string, params: unknown, options: AskOptions): Promise<unknown>;
  /** Takes a line in. */
  take(line: string): void;
  /** Fails all that waits. */
  close(reason: string): void;
  /** Lines that meant nothing. */
  readonly dropped: () => number;
}

export interface PeerOptions {
  readonly name: string;
  readonly child: () => Child;
  readonly serve: Serve;
  readonly notified: (method: string, params: unknown) => void;
}

interface Waiting {
  done(value: unknown): void;
  fail(error: unknown): void;
}
const codes: readonly string[] = pluginErrorCodes;

/** An error that the process told of. `code` is as it came: of a plugin or of the boot. */
export class Remote extends Error {
  readonly code: string;
  readonly data: Readonly<Record<string, unknown>>;
  constructor(message: string, data: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = typeof data.code === "string" ? data.code : "failed";
    this.data = data;
  }
  /** What callers of a plugin catch. */
  toPluginError(): PluginError {
    const { retryable, retry_after_ms } = this.data;
    const code = (codes.includes(this.code) ? this.code : "failed") as PluginErrorCode;
    const wait =
      typeof retry_after_ms === "number" && retry_after_ms >= 0 && Number.isFinite(retry_after_ms) ? retry_after_ms : null;
    return new Failure(code, this.message, {
      ...(typeof retryable === "boolean" && { retryable }),
      ...(wait !== null && { retry_after_ms: Math.min(wait, 86_400_000) }),
    });
  }
}

export function createPeer({ name, child, serve, notified }: PeerOptions): Peer {
  const waiting = new Map<number, Waiting>();
  const serving = new Map<unknown, AbortController>();
  const allowance = new Allowance(limits.messages);
  const reading = new Allowance(limits.unasked);
  let last = 0;
  let dropped = 0;
  let closed: string | null = null;
  const send = (message: object) => child().write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const drop = () => {
    dropped += 1;
  };

  const answer = async (id: unknown, method: string, params: unknown) => {
    if ((typeof id !== "number" && typeof id !== "string") || serving.has(id)) return drop();
    if (serving.size >= limits.requests) {
      const message = `More than ${limits.requests} requests at the same time.`;
      return send({ id, error: { code: -32_000, message, data: { code: "rate_limited", retryable: true } } });
    }
    const stop = new AbortController();
    serving.set(id, stop);
    try {
      const result = await serve(method, params, stop.signal);
      if (closed === null) send({ id, result: result ?? null });
    } catch (error) {
      if (closed === null) send({ id, error: toWire(error) });
    } finally {
      serving.delete(id);
    }
  };
  /** Counts what nobody asked for: by itself, and by what reading it cost. */
  const mayCome = (values: number): boolean => {
    const may = allowance.take(1) && reading.take(values);
    if (!may) child().kill("it sent more messages than it may");
    return may;
  };
  const settle = ({ id, result, error }: Message, values: number) => {
    const asked = typeof id === "number" ? waiting.get(id) : undefined;
    // A second answer, or one to a question that nobody asked.
    if (!asked) return mayCome(values) ? drop() : undefined;
    waiting.delete(id as number);
    if (error === undefined) asked.done(result);
    else asked.fail(remoteOf(error));
  };
  return {
    request: (method, params, { deadlineMs, signal, onId }) =>
      new Promise((done, fail) => {
        if (closed !== null) return fail(gone(name, closed));
        if (signal?.aborted) return fail(signal.reason);
        last += 1;
        const id = last;
        const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
        if (line.length > limits.sent) {
          fail(new Failure("failed", `What ${name} is to be sent has ${line.length} characters; it takes ${limits.sent}`));
          return;
        }
        onId?.(id);
        const finish = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", cancel);
          waiting.delete(id);
        };
        const cancel = () => {
          finish();
          if (closed === null) send({ method: "cancel", params: { id } });
          fail(signal?.reason);
        };
        const timer = setTimeout(() => {
          finish();
          fail(new Failure("timeout", `${name} did not answer within ${deadlineMs} ms`));
        }, deadlineMs);
        signal?.addEventListener("abort", cancel, { once: true });
        const settled =
          <T>(then: (value: T) => void) =>
          (value: T) => {
            finish();
            then(value);
          };
        waiting.set(id, { done: settled(done), fail: settled(fail) });
        child().write(line);
      }),
    take: (line) => {
      const read = readMessage(line);
      if (!read) return child().kill(`it sent a message of more than ${limits.values} values`);
      const { message, values } = read;
      if (message && message.method === undefined) return settle(message, values);
      if (!mayCome(values)) return;
      if (!message || typeof message.method !== "string") return drop();
      if (message.id !== undefined) return void answer(message.id, message.method, message.params);
      if (message.method === "cancel") serving.get((message.params as { id?: unknown } | null)?.id)?.abort();
      else notified(message.method, message.params);
    },
    close: (reason) => {
      closed = reason;
      for (const asked of [...waiting.values()]) asked.fail(gone(name, reason));
      for (const stop of serving.values()) stop.abort();
    },
    dropped: () => dropped,
  };
}

/** Fails at once, so that nobody waits for a process that is gone. Not to be repeated: the call itself may have ended it. */
export const gone = (name: string, reason: string): PluginError =>
  new Failure("unavailable", `PLUGIN_CRASHED: the process of ${name} is gone: ${reason}`, { retryable: false });

function remoteOf(error: unknown): Remote {
  const { message, data } = (typeof error === "object" && error !== null ? error : {}) as { message?: unknown; data?: unknown };
  const text = typeof message === "string" ? message.slice(0, 10_000) : "it failed without saying why";
  return new Remote(text, typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {});
}
