import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Signalbox {
  readonly url: string;
  readonly grpcPort: number;
  readonly folder: string;
  /** Standard output and standard error so far. */
  logs(): string;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: string, headers?: Record<string, string>): Promise<{ status: number; body: T }>;
  /** Stops the process and removes its folder. */
  stop(): Promise<void>;
}

/** Starts the service as a process with the embedded database, in a temporary folder, and waits until it serves. */
export async function startSignalbox(
  settings: Record<string, string>,
  onStart: (service: Signalbox) => void,
): Promise<Signalbox> {
  for (let tries = 1; ; tries++) {
    let logs = () => "";
    try {
      return await startOnce(settings, (service) => {
        logs = () => service.logs();
        onStart(service);
      });
    } catch (error) {
      // Another process took a port between our check and the start of the service.
      if (tries >= 3 || !/EADDRINUSE|AddrInUse/.test(logs())) throw error;
    }
  }
}

async function startOnce(settings: Record<string, string>, onStart: (service: Signalbox) => void): Promise<Signalbox> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-demo-"));
  const port = await portOr(Number(process.env.PORT) || 8000);
  const grpcPort = await portOr(Number(process.env.GRPC_PORT) || 9090);
  const main = join(import.meta.dirname, "../../runtime/main.ts");
  const inheritedVariables = Object.fromEntries(
    ["PATH", "HOME", "TMPDIR"].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  // The database lives for seconds: optimising its code takes longer than running it, and most of it is never called. Since
  // version 14, V8 always validates a function only when it is called, and later versions refuse the flag.
  const quick = ["--liftoff-only", ...(Number.parseInt(process.versions.v8, 10) < 14 ? ["--wasm-lazy-validation"] : [])];
  const args = "Deno" in globalThis ? ["run", "-A", "--quiet", `--v8-flags=${quick}`, main] : [...quick, main];
  const child = spawn(process.execPath, args, {
    // A separate folder, because a `.env` next to the sources belongs to a real service.
    cwd: folder,
    env: { ...inheritedVariables, ...settings, PORT: String(port), GRPC_PORT: String(grpcPort), DATA_DIR: join(folder, "data") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const service = new Child(child, `http://127.0.0.1:${port}`, grpcPort, folder);
  onStart(service);
  await service.serves();
  return service;
}

class Child implements Signalbox {
  readonly url: string;
  readonly grpcPort: number;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #written: string[] = [];
  #exit: string | null = null;

  constructor(child: ChildProcess, url: string, grpcPort: number, folder: string) {
    this.#child = child;
    this.url = url;
    this.grpcPort = grpcPort;
    this.folder = folder;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => this.#written.push(text));
    this.#ended = new Promise((done) => {
      child.once("error", (error) => this.#written.push(`${error.message}\n`));
      child.once("close", (code, signal) => {
        this.#exit = signal ? `signal ${signal}` : `exit code ${code}`;
        done();
      });
    });
    process.once("exit", () => this.#cleanUp());
  }

  async serves(): Promise<void> {
    while (this.#exit === null) {
      const response = await fetch(`${this.url}/health`, { signal: AbortSignal.timeout(2000) }).catch(() => null);
      await response?.body?.cancel();
      // Another process may have taken the port meanwhile and answer instead.
      if (response?.status === 200 && /listens on/.test(this.logs())) return;
      await sleep(25);
    }
    throw new Error(`Signalbox exited before it was ready (${this.#exit})`);
  }

  logs(): string {
    return this.#written.join("");
  }

  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path, { signal: AbortSignal.timeout(30_000) });
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  async post<T>(path: string, body?: string, headers: Record<string, string> = {}): Promise<{ status: number; body: T }> {
    const response = await fetch(this.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`POST ${path} answered ${response.status}: ${text}`);
    return { status: response.status, body: JSON.parse(text) as T };
  }

  async stop(): Promise<void> {
    if (this.#exit === null) {
      this.#child.kill("SIGTERM");
      await Promise.race([this.#ended, sleep(8000, undefined, { ref: false })]);
    }
    this.#cleanUp();
    await this.#ended;
  }

  #cleanUp(): void {
    if (this.#exit === null) this.#child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The default port if it is free, else any port. */
async function portOr(usual: number): Promise<number> {
  return (await tryPort(usual)) ?? (await tryPort(0)) ?? 0;
}

const tryPort = (port: number): Promise<number | null> =>
  new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(null));
    server.listen(port, "127.0.0.1", () => {
      const freePort = (server.address() as AddressInfo).port;
      server.close(() => done(freePort));
    });
  });
