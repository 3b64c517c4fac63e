import { PluginError as Failure, type PluginError, type PluginErrorCode, pluginErrorCodes } from "@signalbox/sdk";
import { toWire } from "./boot/errors.ts";
import type { Child } from "./child.ts";
import { Allowance, limits } from "./limits.ts";

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
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
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
  const settle = ({ id, result, error }: Message) => {
    const asked = typeof id === "number" ? waiting.get(id) : undefined;
    // A second answer, or one to a question that nobody asked.
    if (!asked) return allowance.take(1) ? drop() : child().kill("it sent more messages than it may");
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
      const message = read(line);
      if (message && message.method === undefined) return settle(message);
      if (!allowance.take(1)) return child().kill("it sent more messages than it may");
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

function read(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) && !isDeep(value) ? value : null;
  } catch {
    return null;
  }
}

/** Nested deeper than those who walk it recursively can bear. Takes members named `__proto__` away, which an assignment would obey. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.depth) return true;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      if (Object.hasOwn(one, "__proto__")) Reflect.deleteProperty(one, "__proto__");
      for (const member of Array.isArray(one) ? one : Object.values(one)) {
        if (typeof member === "object" && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return false;
}

function remoteOf(error: unknown): Remote {
  const { message, data } = (typeof error === "object" && error !== null ? error : {}) as { message?: unknown; data?: unknown };
  const text = typeof message === "string" ? message.slice(0, 10_000) : "it failed without saying why";
  return new Remote(text, typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {});
}
