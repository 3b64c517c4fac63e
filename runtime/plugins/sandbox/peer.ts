import { PluginError, type PluginErrorCode, pluginErrorCodes } from "@signalbox/sdk";
import { toWire } from "./boot/errors.ts";
import type { Child } from "./child.ts";
import { limits, TokenBucket } from "./limits.ts";
import { type Line, type Message, readLongMessage, readMessage } from "./read-message.ts";

/** Answers a plugin's request. */
export type Serve = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;

interface RequestOptions {
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives the id of the request, which the process can refer to. */
  readonly onId?: ((id: number) => void) | undefined;
}

interface PeerOptions {
  readonly name: string;
  readonly child: () => Child;
  readonly serve: Serve;
  readonly onNotification: (method: string, params: unknown) => void;
}

interface PendingRequest {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}
const codes: readonly string[] = pluginErrorCodes;

/** An error response of the process. `code` is as the process sent it: the plugin's or the boot's. */
export class RemoteError extends Error {
  readonly code: string;
  readonly data: Readonly<Record<string, unknown>>;
  constructor(message: string, data: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = typeof data.code === "string" ? data.code : "failed";
    this.data = data;
  }
  /** The error that callers of a plugin catch. */
  toPluginError(): PluginError {
    const { retryable, retry_after_ms, status } = this.data;
    const code = (codes.includes(this.code) ? this.code : "failed") as PluginErrorCode;
    const wait =
      typeof retry_after_ms === "number" && retry_after_ms >= 0 && Number.isFinite(retry_after_ms) ? retry_after_ms : null;
    return new PluginError(code, this.message, {
      ...(typeof retryable === "boolean" && { retryable }),
      ...(wait !== null && { retry_after_ms: Math.min(wait, 86_400_000) }),
      ...(typeof status === "number" && { status }),
    });
  }
}

/** JSON-RPC 2.0, one message per line, with an untrusted process. */
export class Peer {
  readonly #options: PeerOptions;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #serving = new Map<unknown, AbortController>();
  readonly #messages = new TokenBucket(limits.messages);
  readonly #unasked = new TokenBucket(limits.unasked);
  #lastId = 0;
  #closed: string | null = null;
  /** Long lines are checked in another thread, and the following lines wait. `null` if none is being checked. */
  #reading: Promise<void> | null = null;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Sends a request. Rejects with a `PluginError`, or a `RemoteError` with a boot's code. `signal` cancels it in the process. */
  readonly request = (method: string, params: unknown, { deadlineMs, signal, onId }: RequestOptions): Promise<unknown> =>
    new Promise((done, fail) => {
      const { name, child } = this.#options;
      if (this.#closed !== null) return fail(processEnded(name, this.#closed));
      if (signal?.aborted) return fail(signal.reason);
      this.#lastId += 1;
      const id = this.#lastId;
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      if (line.length > limits.sent)
        return fail(
          new PluginError("failed", `The message to ${name} has ${line.length} characters; the limit is ${limits.sent}`),
        );
      onId?.(id);
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        this.#pending.delete(id);
      };
      const cancel = () => {
        finish();
        this.#send({ method: "cancel", params: { id } });
        fail(signal?.reason);
      };
      const timer = setTimeout(() => {
        finish();
        fail(new PluginError("timeout", `${name} did not answer within ${deadlineMs} ms`));
      }, deadlineMs);
      signal?.addEventListener("abort", cancel, { once: true });
      const finishThen =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          finish();
          then(value);
        };
      this.#pending.set(id, { resolve: finishThen(done), reject: finishThen(fail) });
      child().write(line);
    });

  /** Reads a line from the process. */
  receive(line: string): void {
    if (this.#reading === null && line.length <= limits.shortLine) {
      this.#handle(readMessage(line));
      return;
    }
    const before = this.#reading ?? Promise.resolve();
    const reading = before.then(async () => {
      if (this.#closed === null) this.#handle(await readLongMessage(line));
      if (this.#reading === reading) this.#reading = null;
    });
    this.#reading = reading;
  }

  /** Resolves when no line is being read. */
  async whenIdle(): Promise<void> {
    await this.#reading;
  }

  /** Rejects all pending requests and cancels the work of the host for the process. */
  close(reason: string): void {
    this.#closed = reason;
    for (const pending of [...this.#pending.values()]) pending.reject(processEnded(this.#options.name, reason));
    for (const stop of this.#serving.values()) stop.abort();
  }

  #handle({ message, values, refused }: Line): void {
    if (refused !== undefined) this.#options.child().kill(refused);
    else if (message && message.method === undefined) this.#complete(message, values);
    // What is no valid message is ignored.
    else if (!this.#countUnasked(values) || typeof message?.method !== "string") return;
    else if (message.id !== undefined) void this.#answer(message.id, message.method, message.params);
    else if (message.method === "cancel") this.#serving.get((message.params as { id?: unknown } | null)?.id)?.abort();
    else this.#options.onNotification(message.method, message.params);
  }

  #complete({ id, result, error }: Message, values: number): void {
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    // A second response, or one to a request that was never sent.
    if (!pending) return void this.#countUnasked(values);
    this.#pending.delete(id as number);
    if (error === undefined) pending.resolve(result);
    else pending.reject(remoteError(error));
  }

  async #answer(id: unknown, method: string, params: unknown): Promise<void> {
    if ((typeof id !== "number" && typeof id !== "string") || this.#serving.has(id)) return;
    if (this.#serving.size >= limits.requests) {
      const message = `More than ${limits.requests} requests at the same time.`;
      return this.#send({ id, error: { code: -32_000, message, data: { code: "rate_limited", retryable: true } } });
    }
    const stop = new AbortController();
    this.#serving.set(id, stop);
    try {
      const result = await this.#options.serve(method, params, stop.signal);
      this.#send({ id, result: result ?? null });
    } catch (error) {
      this.#send({ id, error: toWire(error) });
    } finally {
      this.#serving.delete(id);
    }
  }

  /** Counts a message that the host did not request: as one, and by the cost of reading it. */
  #countUnasked(values: number): boolean {
    const allowed = this.#messages.take(1) && this.#unasked.take(values);
    if (!allowed) this.#options.child().kill("it sent more messages than allowed");
    return allowed;
  }

  #send(message: object): void {
    if (this.#closed === null) this.#options.child().write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }
}

/** Not retryable, because the call itself may have ended the process. */
export const processEnded = (name: string, reason: string): PluginError =>
  new PluginError("unavailable", `PLUGIN_CRASHED: the process of ${name} ended: ${reason}`, { retryable: false });

function remoteError(error: unknown): RemoteError {
  const { message, data } = (typeof error === "object" && error !== null ? error : {}) as { message?: unknown; data?: unknown };
  const text = typeof message === "string" ? message.slice(0, 10_000) : "it failed without an error message";
  return new RemoteError(text, typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {});
}
