import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** Maximum time for the start of a thread, in milliseconds. On a busy machine, it takes longer than most answers. */
const startMs = 30_000;

interface SingleWorkerOptions {
  /** The program of the thread. It answers each message with one message. */
  readonly file: URL;
  /** Maximum time for one answer, in milliseconds. The wait for the thread and its start do not count. */
  readonly limitMs: number;
  readonly memoryMb: number;
  /** An idle thread ends after this time and frees its memory; milliseconds. Default: it stays. */
  readonly idleMs?: number;
}

/**
 * A thread that answers one question at a time. It starts with the first question, and is replaced if it fails or takes too long. It
 * does not keep the process alive.
 */
export class SingleWorker<Question, Answer> {
  readonly #options: SingleWorkerOptions;
  #worker: Worker | null = null;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SingleWorkerOptions) {
    this.#options = options;
  }

  /** Rejects if the thread fails or takes too long. Each answer resolves in another turn of the event loop. */
  ask(question: Question): Promise<Answer> {
    const answer = this.#last.then(() => this.#ask(question));
    this.#last = answer.catch(() => {});
    return answer;
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    void this.#worker?.terminate();
    this.#worker = null;
  }

  async #ask(question: Question): Promise<Answer> {
    const { idleMs } = this.#options;
    clearTimeout(this.#idleTimer);
    try {
      const answer = await this.#answerTo(question);
      if (idleMs !== undefined) this.#idleTimer = setTimeout(() => this.close(), idleMs).unref();
      await nextTurn();
      return answer;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  #answerTo(question: Question): Promise<Answer> {
    const { limitMs } = this.#options;
    const isStarted = this.#worker !== null;
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return new Promise((done, fail) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const limitTo = (ms: number, problem: string) => {
        clearTimeout(timer);
        timer = setTimeout(() => end(() => fail(new Error(problem))), ms);
      };
      const limit = () => limitTo(limitMs, `no answer within ${limitMs} ms`);
      const onAnswer = (answer: Answer) => end(() => done(answer));
      const onFailure = (error: unknown) => end(() => fail(error));
      const end = (act: () => void) => {
        clearTimeout(timer);
        worker.off("online", limit).off("message", onAnswer).off("error", onFailure).off("exit", onFailure);
        act();
      };
      worker.on("message", onAnswer).on("error", onFailure).on("exit", onFailure);
      if (isStarted) limit();
      else {
        limitTo(startMs, `the thread did not start within ${startMs} ms`);
        worker.once("online", limit);
      }
      worker.postMessage(question);
    });
  }

  #start(): Worker {
    const { file, memoryMb } = this.#options;
    const worker = new Worker(file, { env: {}, resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    worker.unref();
    // An error of a thread that has no question would otherwise end the service.
    worker.on("error", () => {});
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = null;
    });
    return worker;
  }
}
