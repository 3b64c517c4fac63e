import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type JsonClient, jsonClient } from "../harness/json-client.ts";
import { type Running, run } from "../harness/process.ts";
import type { TcpProxy } from "../harness/tcp-proxy.ts";
import { eventually } from "../harness/wait.ts";

/** The service waits this long for its work after SIGTERM, and may take a few seconds more. */
const drainLimitMs = 25_000 + 5_000;

interface ReplicaOptions {
  readonly name: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** The folder it works in. */
  readonly folder: string;
  /** Its log is appended to a file in this folder. */
  readonly logs: string;
  readonly postgres: TcpProxy | null;
  readonly redis: TcpProxy | null;
}

/** An end of the process that no fault caused. */
export interface Crash {
  readonly replica: string;
  readonly code: number | null;
  readonly signal: string | null;
  /** Whether the replica had been ready before. */
  readonly served: boolean;
  /** The end of its log. */
  readonly tail: string;
}

/** One process of the service. It is started again when it ends, as by a supervisor. */
export class Replica {
  readonly name: string;
  readonly url: string;
  readonly client: JsonClient;
  readonly postgres: TcpProxy | null;
  readonly redis: TcpProxy | null;
  readonly crashes: Crash[] = [];
  /** Milliseconds from SIGTERM to the end of each process; `null` if it had to be killed. */
  readonly ends: (number | null)[] = [];
  /** When it was killed with kill -9, in milliseconds since 1970. */
  readonly kills: number[] = [];
  /** Lines of the log about unhandled errors. */
  readonly unhandled: string[] = [];
  /** The fault that affects it. */
  fault: string | null = null;
  #running: Running | null = null;
  #served = false;
  #asked = false;
  #frozen = false;
  readonly #options: ReplicaOptions;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.name = options.name;
    this.postgres = options.postgres;
    this.redis = options.redis;
    this.url = `http://127.0.0.1:${options.port}`;
    this.client = jsonClient(this.url);
    mkdirSync(options.folder, { recursive: true });
    mkdirSync(options.logs, { recursive: true });
  }

  get up(): boolean {
    return this.#running !== null && !this.#running.exit;
  }
  get frozen(): boolean {
    return this.#frozen;
  }
  get log(): string {
    return join(this.#options.logs, `${this.name}.log`);
  }

  /** Starts the process without waiting until it is ready. */
  start(): void {
    if (this.up) return;
    const running = run("node", "runtime/main.ts", { cwd: this.#options.folder, env: { ...this.#options.env } });
    this.#running = running;
    this.#asked = false;
    this.#served = false;
    this.#frozen = false;
    void running.ended.then(({ code, signal }) => {
      this.#keepLog(running);
      if (this.#asked || this.#running !== running) return;
      this.crashes.push({ replica: this.name, code, signal, served: this.#served, tail: running.logs().slice(-2000) });
      setTimeout(() => this.#asked || this.start(), 500);
    });
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#end();
  }

  /** Sends SIGTERM. Returns the milliseconds until the end, or `null` if it exceeded its limit and was killed. */
  async terminate(): Promise<number | null> {
    const running = this.#running;
    if (!running || running.exit) return 0;
    this.#asked = true;
    const began = performance.now();
    running.signal("SIGTERM");
    const ended = await Promise.race([running.ended, sleep(drainLimitMs, null, { ref: false })]);
    if (!ended) {
      this.#note(`[chaos] outlived its limit after SIGTERM\n`);
      await this.#end();
    }
    const took = ended ? performance.now() - began : null;
    this.ends.push(took);
    return took;
  }

  freeze(): void {
    this.#running?.signal("SIGSTOP");
    this.#frozen = true;
  }
  thaw(): void {
    this.#running?.signal("SIGCONT");
    this.#frozen = false;
  }

  async #end(): Promise<void> {
    const running = this.#running;
    this.#asked = true;
    if (!running || running.exit) return;
    this.kills.push(Date.now());
    running.signal("SIGKILL");
    await running.ended;
    this.#frozen = false;
  }

  /** Whether `GET /health` answers 200. */
  async healthy(timeout = 2000): Promise<boolean> {
    try {
      const { status } = await this.client.get("/health", { timeout });
      if (status === 200) this.#served = true;
      return status === 200;
    } catch {
      return false;
    }
  }

  /** Waits until it is ready. */
  async serves(timeout = 60_000): Promise<void> {
    await eventually(() => this.healthy(), { timeout, interval: 100 }).catch(() => {
      throw new Error(`${this.name} did not serve within ${timeout} ms:\n${this.#running?.logs().slice(-2000)}`);
    });
  }

  /** Writes a line of the test to its log. */
  note(text: string): void {
    this.#note(`[chaos ${new Date().toISOString()}] ${text}\n`);
  }
  #note(text: string): void {
    appendFileSync(this.log, text);
  }
  #keepLog(running: Running): void {
    const text = running.logs();
    this.#note(text);
    this.unhandled.push(...text.split("\n").filter((line) => /unhandled|uncaught/i.test(line)));
  }
}
