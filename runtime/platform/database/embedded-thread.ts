import { Worker } from "node:worker_threads";
import type { EmbeddedReply, EmbeddedRequest, EmbeddedSettings } from "./embedded-worker.ts";

/** The sources run as they are; in the bundle the worker is JavaScript beside this file. */
const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";

/** The thread of `embedded-worker.ts`. It keeps the process alive only while a call waits for it. */
export class DatabaseThread {
  readonly #worker: Worker;
  /** The calls that wait, in their order: it answers one after the other. */
  readonly #waiting: { onData: (data: Uint8Array) => void; done: () => void; fail: (error: Error) => void }[] = [];
  #ended: Error | null = null;

  private constructor(settings: EmbeddedSettings) {
    this.#worker = new Worker(new URL(`./embedded-worker${extension}`, import.meta.url), { env: {}, workerData: settings });
    this.#worker.on("message", (reply: EmbeddedReply) => {
      if ("data" in reply) this.#waiting[0]?.onData(reply.data);
      else this.#answered(reply.error);
    });
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", (code) => this.#end(new Error(`the thread of the embedded database ended with code ${code}`)));
  }

  static async open(settings: EmbeddedSettings): Promise<DatabaseThread> {
    const thread = new DatabaseThread(settings);
    // It answers once the database is open.
    await thread.#call(null);
    return thread;
  }

  /** Sends protocol messages; `onData` receives the parts of the answer. */
  send(messages: Uint8Array, onData: (data: Uint8Array) => void): Promise<void> {
    // A copy of its own, which can move to the thread: a part of a buffer would take the whole buffer along.
    const moved = new Uint8Array(messages);
    return this.#call({ messages: moved }, [moved.buffer], onData);
  }

  async close(): Promise<void> {
    await this.#call({ close: true });
    await this.#worker.terminate();
  }

  #call(
    request: EmbeddedRequest | null,
    transfer: ArrayBuffer[] = [],
    onData: (data: Uint8Array) => void = () => {},
  ): Promise<void> {
    return new Promise((done, fail) => {
      if (this.#ended) return fail(this.#ended);
      this.#waiting.push({ onData, done, fail });
      if (this.#waiting.length === 1) this.#worker.ref();
      if (request) this.#worker.postMessage(request, transfer);
    });
  }

  #answered(error: Error | undefined): void {
    const call = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#worker.unref();
    if (error) call?.fail(error);
    else call?.done();
  }

  #end(error: unknown): void {
    this.#ended ??= error instanceof Error ? error : new Error(String(error));
    for (const { fail } of this.#waiting.splice(0)) fail(this.#ended);
  }
}
