import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { environment, type Launch } from "./launch.ts";
import { limits, TokenBucket } from "./limits.ts";

/** How a process ended. */
export interface Exit {
  readonly reason: string;
  /** The end of its output to standard error. */
  readonly stderr: string;
}

/** A process that reads and writes lines. */
export interface Child {
  readonly pid: number | undefined;
  write(line: string): void;
  /** Closes its standard input; a healthy process then exits. */
  end(): void;
  /** Ends it immediately, for this reason. */
  kill(reason: string): void;
  readonly whenExited: Promise<Exit>;
  /** Resident memory in bytes; `null` if the system does not report it. */
  memory(): number | null;
}

interface ChildOptions {
  readonly launch: Launch;
  readonly memoryMb: number;
  readonly onLine: (line: string) => void;
}

/** Time for reading the output of a process that has ended, in milliseconds. */
const pipesMs = 2_000;

/** Starts a process without the environment of this one, and ends it when it exceeds a limit. */
export function startChild({ launch, memoryMb, onLine }: ChildOptions): Child {
  const child = spawn(launch.command, launch.args, { env: { ...environment }, cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
  let reason: string | null = null;
  const kill = (why: string) => {
    reason ??= why;
    // After a process has ended, its id may belong to another one.
    const isRunning = child.exitCode === null && child.signalCode === null;
    const descendants = isRunning ? descendantsOf(child.pid) : [];
    child.kill("SIGKILL");
    for (const pid of descendants) end(pid);
  };
  readLines(child, onLine, kill);
  const tail = readErrors(child, kill);
  const stop = watchMemory(child, memoryMb, kill);
  const whenExited = new Promise<Exit>((done) => {
    child.once("error", (error) => {
      stop();
      done({ reason: `it could not be started: ${error.message}`, stderr: "" });
    });
    // A descendant that outlives the process may keep its pipes open, for example bubblewrap's if it is killed while it starts.
    child.once("exit", () => {
      const pipes = [child.stdin, child.stdout, child.stderr];
      const timer = setTimeout(() => pipes.forEach((one) => void one?.destroy()), pipesMs);
      child.once("close", () => clearTimeout(timer));
    });
    // "close" instead of "exit", because all of its output has been read only then.
    child.once("close", (code, signal) => {
      stop();
      const stderr = tail();
      const ended = signal ? `it was killed by ${signal}` : `it exited with code ${code}`;
      done({ reason: reason ?? `${ended}${causeIn(stderr, memoryMb)}`, stderr });
    });
  });
  // A process that ended closes its pipe; `whenExited` reports the end.
  child.stdin?.on("error", () => {});
  return {
    pid: child.pid,
    write: (line) => {
      if (child.stdin?.writableEnded) return;
      if ((child.stdin?.writableLength ?? 0) > limits.waiting) kill("it does not read its input");
      else child.stdin?.write(`${line}\n`);
    },
    end: () => void child.stdin?.end(),
    kill,
    whenExited,
    memory: () => residentBytes(child.pid),
  };
}

function readLines(child: ChildProcess, onLine: (line: string) => void, kill: (reason: string) => void): void {
  const allowance = new TokenBucket(limits.bytes);
  let parts: Buffer[] = [];
  let size = 0;
  let over = false;
  const stop = (why: string) => {
    over = true;
    parts = [];
    kill(why);
  };
  child.stdout?.on("data", (chunk: Buffer) => {
    if (over) return;
    if (!allowance.take(chunk.byteLength)) return stop("it sent more bytes than allowed");
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0 && !over; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end);
      if (size + last.byteLength > limits.line) return stop(`it sent a line longer than ${limits.line} bytes`);
      onLine(parts.length === 0 ? last.toString("utf8") : Buffer.concat([...parts, last]).toString("utf8"));
      parts = [];
      size = 0;
      from = end + 1;
    }
    size += chunk.byteLength - from;
    if (size > limits.line) return stop(`it sent a line longer than ${limits.line} bytes`);
    if (from < chunk.byteLength) parts.push(chunk.subarray(from));
  });
}

function readErrors(child: ChildProcess, kill: (reason: string) => void): () => string {
  const allowance = new TokenBucket(limits.errors);
  let tail = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    if (!allowance.take(chunk.byteLength)) return kill("it wrote more to standard error than allowed");
    tail = (tail + chunk.toString("utf8")).slice(-limits.errorsKept);
  });
  return () => tail;
}

/** What Deno writes when the heap is full, or nothing catches an error or a rejected promise. */
function causeIn(stderr: string, memoryMb: number): string {
  if (stderr.includes("Fatal JavaScript out of memory"))
    return `: it needed more than ${memoryMb} MiB of heap (limits.memory_mb of its manifest)`;
  const found = /^error: (Uncaught .+)$/m.exec(stderr)?.[1];
  return found === undefined ? "" : `: ${found.slice(0, 300)}`;
}

/** The kernel limits address space; this limits resident memory. */
function watchMemory(child: ChildProcess, memoryMb: number, kill: (reason: string) => void): () => void {
  const most = (memoryMb + limits.besideHeapMb) * 1024 * 1024;
  const timer = setInterval(() => {
    const resident = residentBytes(child.pid);
    if (resident !== null && resident > most) kill(`it used more than ${memoryMb + limits.besideHeapMb} MiB of memory`);
  }, limits.memoryPollMs);
  return () => clearInterval(timer);
}

/** The memory of the process and its descendants, because under bubblewrap the plugin is a grandchild. */
function residentBytes(pid: number | undefined): number | null {
  if (pid === undefined || process.platform !== "linux") return null;
  try {
    const own = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096;
    return childrenOf(pid).reduce((sum, child) => sum + (residentBytes(child) ?? 0), own);
  } catch {
    return null;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended together with its parent.
  }
}

const descendantsOf = (pid: number | undefined): number[] =>
  pid === undefined ? [] : childrenOf(pid).flatMap((one) => [one, ...descendantsOf(one)]);

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? [] : children.split(" ").map(Number);
  } catch {
    return [];
  }
}
