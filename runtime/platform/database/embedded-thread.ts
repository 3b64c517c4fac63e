import { Worker } from "node:worker_threads";
import { messageOf } from "../error-text.ts";
import { siblingFile } from "../sibling-file.ts";
import type { EmbeddedReply, EmbeddedRequest, EmbeddedSettings } from "./embedded-worker.ts";

/** The database exited unexpectedly, for example because it had no more memory. */
class DatabaseEnded extends Error {
  override readonly name = "DatabaseEnded";
  constructor(cause: unknown) {
    const reason = messageOf(cause);
    super(`The embedded database has ended: ${reason}. Committed data is not lost: start the service again.`, { cause });
  }
}

/** The thread of `embedded-worker.ts`. It keeps the process alive only while a call waits for it. */
export class DatabaseThread {
  readonly #worker: Worker;
  /** The waiting calls in order, because the thread answers one after the other. */
  readonly #waiting: { onData: (data: Uint8Array) => void; done: () => void; fail: (error: Error) => void }[] = [];
  readonly #onEnd: (error: Error) => void;
  #ended: Error | null = null;
  #state: "opening" | "open" | "closing" = "opening";

  private constructor(settings: EmbeddedSettings, onEnd: (error: Error) => void) {
    this.#onEnd = onEnd;
    this.#worker = new Worker(siblingFile(import.meta.url, "embedded-worker"), { env: {}, workerData: settings });
    this.#worker.on("message", (reply: EmbeddedReply) => {
      if ("data" in reply) this.#waiting[0]?.onData(reply.data);
      else if ("ended" in reply) this.#end(new Error(reply.ended));
      else this.#answered(reply.error);
    });
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", (code) => this.#end(new Error(`its thread ended with code ${code}`)));
  }

  /** `onEnd`: called if the database exits unexpectedly after it was open. From then on, all its calls fail. */
  static async open(settings: EmbeddedSettings, onEnd: (error: Error) => void): Promise<DatabaseThread> {
    const thread = new DatabaseThread(settings, onEnd);
    // The first answer arrives once the database is open.
    await thread.#call(null);
    thread.#state = "open";
    return thread;
  }

  /** Sends protocol messages; `onData` receives the parts of the answer. */
  send(messages: Uint8Array, onData: (data: Uint8Array) => void): Promise<void> {
    // A copy that can be transferred to the thread; transferring a part of a buffer would transfer the whole buffer.
    const moved = new Uint8Array(messages);
    return this.#call({ messages: moved }, [moved.buffer], onData);
  }

  async close(): Promise<void> {
    this.#state = "closing";
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

  #end(cause: unknown): void {
    if (this.#ended) return;
    this.#ended = this.#state === "opening" && cause instanceof Error ? cause : new DatabaseEnded(cause);
    for (const { fail } of this.#waiting.splice(0)) fail(this.#ended);
    if (this.#state === "open") this.#onEnd(this.#ended);
  }
}
