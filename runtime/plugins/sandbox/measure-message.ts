import { Worker } from "node:worker_threads";
import { siblingFile } from "../../platform/sibling-file.ts";
import { limits } from "./limits.ts";
import type { MeasuredLine } from "./measure-message-worker.ts";

type Measurement = MeasuredLine | "invalid" | "slow";
interface Job {
  readonly line: string;
  done(measurement: Measurement): void;
}

const jobs: Job[] = [];
let runningJob: Job | null = null;
/** The job whose result is about to be passed on. */
let finishedJob: Job | null = null;
let worker: Worker | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * The cost of a line of JSON, measured in a separate thread; `slow` if that took longer than `limits.measureMs`. Resolves for each
 * line in another tick of the event loop, because parsing several in one tick would block it.
 */
export function measureInWorker(line: string): Promise<Measurement> {
  return new Promise((done) => {
    jobs.push({ line, done });
    if (!runningJob) runNext();
  });
}

function runNext(): void {
  const job = jobs.shift() ?? null;
  runningJob = job;
  if (!job) return;
  const limit = () => {
    timer = setTimeout(() => replaceWorker("slow"), limits.measureMs);
  };
  if (worker) limit();
  else {
    worker = startWorker();
    // The start of the thread does not count, because on a busy machine it takes longer than the message.
    worker.once("online", limit);
  }
  worker.postMessage(job.line);
}

function finish(measurement: Measurement): void {
  clearTimeout(timer);
  const job = runningJob;
  // The thread can fail right after its answer.
  if (!job || job === finishedJob) return;
  finishedJob = job;
  setImmediate(() => {
    runNext();
    job.done(measurement);
  });
}

function replaceWorker(measurement: Measurement): void {
  const old = worker;
  worker = null;
  old?.removeAllListeners();
  // An error of a worker that is being terminated would otherwise end the service.
  old?.on("error", () => {});
  void old?.terminate();
  finish(measurement);
}

function startWorker(): Worker {
  const worker = new Worker(siblingFile(import.meta.url, "measure-message-worker"), {
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  // The thread must not prevent the service from ending.
  worker.unref();
  worker.on("message", finish);
  // For example, out of memory.
  worker.on("error", () => replaceWorker("slow"));
  return worker;
}
