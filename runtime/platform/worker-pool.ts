import { Worker } from "node:worker_threads";
import { messageOf } from "./error-text.ts";

interface WorkerPoolOptions {
  /** The program of each thread. It answers a `WorkerRequest` with a `WorkerReply`. */
  readonly entry: URL;
  /** Maximum duration of a job, in milliseconds. Then its thread is terminated and replaced. */
  readonly deadlineMs?: number;
  /** Maximum time that a job waits for a thread, in milliseconds; longer while no thread has imported the job's module yet. */
  readonly queueMs?: number;
}
/** Texts, or any JSON value as text, so that the cost of moving them between threads does not depend on their structure. */
export type JobData = { readonly texts: readonly string[] } | { readonly json: string };
/** `load`: imports a module. `run`: runs a function of it; `input` are its arguments. */
export type WorkerRequest =
  | { readonly load: string }
  | { readonly run: string; readonly module: string; readonly input: JobData };
export type WorkerReply =
  | { readonly loaded: string; readonly error?: string }
  | { readonly result: JobData }
  | { readonly error: string };

/** Why a job has no result. */
export class WorkerFailure extends Error {
  override readonly name = "WorkerFailure";
  readonly code: "timeout" | "unavailable" | "failed";
  constructor(code: WorkerFailure["code"], message: string) {
    super(message);
    this.code = code;
  }
}

interface Job {
  readonly module: string;
  readonly run: string;
  readonly input: JobData;
  readonly done: (result: JobData) => void;
  readonly fail: (error: WorkerFailure) => void;
  /** Timer for the wait for a thread, then for the deadline. */
  timer?: ReturnType<typeof setTimeout>;
}
interface Thread {
  readonly worker: Worker;
  readonly loaded: Set<string>;
  job: Job | null;
}

const maxThreads = 2;
const maxWaiting = 1_000;
/** How long a job waits for a thread at least, in milliseconds, while no thread has imported its module yet. */
const loadMs = 10_000;

/**
 * Threads that run pure functions. The first starts with the first job, others when jobs wait. Idle threads do not keep the
 * process alive.
 */
export class WorkerPool {
  readonly #entry: URL;
  readonly #deadlineMs: number;
  readonly #queueMs: number;
  readonly #threads = new Set<Thread>();
  readonly #modules = new Set<string>();
  /** Modules that could not be imported, and why. */
  readonly #broken = new Map<string, string>();
  #waiting: Job[] = [];
  #closed = false;

  constructor({ entry, deadlineMs = 500, queueMs = 3_000 }: WorkerPoolOptions) {
    this.#entry = entry;
    this.#deadlineMs = deadlineMs;
    this.#queueMs = queueMs;
  }

  /** Runs the function `run` of a module. Rejects with a `WorkerFailure`. */
  run(module: string, run: string, input: JobData): Promise<JobData> {
    return new Promise((done, fail) => {
      if (this.#closed) return fail(new WorkerFailure("unavailable", "the worker threads are stopped"));
      if (this.#waiting.length >= maxWaiting)
        return fail(new WorkerFailure("unavailable", `${maxWaiting} jobs already wait for a worker thread`));
      this.#load(module);
      const job: Job = { module, run, input, done, fail };
      const isLoaded = [...this.#threads].some(({ loaded }) => loaded.has(module));
      const waitMs = isLoaded ? this.#queueMs : Math.max(this.#queueMs, loadMs);
      job.timer = setTimeout(() => this.#expire(job, waitMs), waitMs);
      this.#waiting.push(job);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const error = new WorkerFailure("unavailable", "the worker threads are stopped");
    for (const job of this.#waiting.splice(0)) this.#complete(job, () => job.fail(error));
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, error)));
  }

  /**
   * Threads import a module for its first job, because most installations use only a few of the plugins, and a thread costs a
   * quarter of a start.
   */
  #load(module: string): void {
    if (this.#modules.has(module)) return;
    this.#modules.add(module);
    if (this.#threads.size === 0) this.#start();
    else for (const { worker } of this.#threads) worker.postMessage({ load: module } satisfies WorkerRequest);
  }

  #expire(job: Job, waitMs: number): void {
    this.#waiting = this.#waiting.filter((one) => one !== job);
    job.fail(new WorkerFailure("unavailable", `no worker thread was free within ${waitMs} ms`));
    this.#refBusy();
  }

  #complete(job: Job, act: () => void): void {
    clearTimeout(job.timer);
    act();
  }

  #start(): void {
    // No environment, and its own heap: hostile input must neither read a secret nor exhaust the process.
    const worker = new Worker(this.#entry, { env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 256 } });
    const thread: Thread = { worker, loaded: new Set(), job: null };
    this.#threads.add(thread);
    worker.on("message", (reply: WorkerReply) => this.#receive(thread, reply));
    worker.on("error", (error) => this.#lost(thread, messageOf(error)));
    worker.on("exit", (code) => this.#lost(thread, `exit code ${code}`));
    for (const module of this.#modules) worker.postMessage({ load: module } satisfies WorkerRequest);
    this.#refBusy();
  }

  #receive(thread: Thread, reply: WorkerReply): void {
    if ("loaded" in reply) {
      if (reply.error === undefined) thread.loaded.add(reply.loaded);
      else this.#broken.set(reply.loaded, reply.error);
    } else {
      const job = thread.job;
      thread.job = null;
      if (job)
        this.#complete(job, () =>
          "result" in reply ? job.done(reply.result) : job.fail(new WorkerFailure("failed", reply.error)),
        );
    }
    this.#next();
  }

  /** Assigns waiting jobs to idle threads that have loaded their module. */
  #next(): void {
    this.#waiting = this.#waiting.filter((job) => {
      const reason = this.#broken.get(job.module);
      if (reason !== undefined) this.#complete(job, () => job.fail(new WorkerFailure("failed", reason)));
      else {
        const thread = [...this.#threads].find((one) => one.job === null && one.loaded.has(job.module));
        if (!thread) return true;
        this.#give(thread, job);
      }
      return false;
    });
    this.#refBusy();
    const isStarting = [...this.#threads].some(({ loaded }) => loaded.size === 0);
    if (this.#waiting.length > 0 && this.#threads.size < maxThreads && !isStarting && !this.#closed) this.#start();
  }

  /** Threads with jobs keep the process alive. Deno does not deliver messages of a thread without a reference. */
  #refBusy(): void {
    for (const { worker, job } of this.#threads) {
      if (job !== null || this.#waiting.length > 0) worker.ref();
      else worker.unref();
    }
  }

  #give(thread: Thread, job: Job): void {
    clearTimeout(job.timer);
    thread.job = job;
    job.timer = setTimeout(() => {
      // If this thread was busy itself, the result may already have arrived: messages are read before `setImmediate`.
      setImmediate(() => {
        if (thread.job !== job) return;
        void this.#end(thread, new WorkerFailure("timeout", `${job.run} did not end within ${this.#deadlineMs} ms`));
        if (!this.#closed) this.#start();
        this.#next();
      });
    }, this.#deadlineMs);
    thread.worker.postMessage({ run: job.run, module: job.module, input: job.input } satisfies WorkerRequest);
  }

  async #end(thread: Thread, error: WorkerFailure): Promise<void> {
    this.#threads.delete(thread);
    const job = thread.job;
    thread.job = null;
    if (job) this.#complete(job, () => job.fail(error));
    await thread.worker.terminate();
  }

  /** Called for a thread that exited unexpectedly, for example because its heap was full. */
  #lost(thread: Thread, reason: string): void {
    if (!this.#threads.has(thread)) return;
    void this.#end(thread, new WorkerFailure("failed", `the worker thread ended: ${reason}`));
    // A thread that never loaded a module would fail again, so the next job starts one.
    if (thread.loaded.size > 0) this.#next();
  }
}
