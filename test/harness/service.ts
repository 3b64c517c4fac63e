import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { copyCluster, folderInMemory } from "../../runtime/platform/database/test-folder.ts";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { anyDatabase, type Flavour, freshDatabase } from "./databases.ts";
import { type JsonAnswer, type JsonClient, jsonClient } from "./json-client.ts";
import { type Exit, type Running, type Runtime, run, runtimeUnderTest } from "./process.ts";
import { type Delivery, deliver, type Receipt } from "./webhooks.ts";

export { folderInMemory };

/** Texts are compared as the model wrote them; the footer has a separate test. */
const texts = { COMMENT_FOOTER: "false" };

export interface ServiceOptions {
  /** The value if `TEST_RUNTIME` is absent. */
  readonly runtime?: Runtime;
  /** `postgres`: a separate database, dropped at `close`. Default: `anyDatabase()`. */
  readonly database?: Flavour;
  readonly databaseUrl?: string;
  /** Folder of the embedded database. Default: a separate one, removed at `close`. */
  readonly dataDir?: string;
  /** Further variables, which take precedence over those of the harness. */
  readonly env?: Readonly<Record<string, string>>;
  /** Folder of the sources, for example of another version. Default: this checkout. */
  readonly sources?: string;
  /** Arguments of `runtime/main.ts`. */
  readonly args?: readonly string[];
  /** Runs the four seeds once the service is ready. */
  readonly seed?: boolean;
  /** Sent as `Authorization: Bearer` by the helpers. */
  readonly apiKey?: string;
  /** Signs webhooks; the service receives it as `ALPHA_WEBHOOK_SECRET`. */
  readonly webhookSecret?: string;
}

/** The real service in a separate process. */
export interface Service extends JsonClient {
  readonly url: string;
  readonly grpcPort: number;
  readonly pid: number;
  /** Folder that the service works in; its data is in `data`. */
  readonly folder: string;
  readonly databaseUrl: string | null;
  webhook(payload: object, delivery?: Delivery): Promise<JsonAnswer<Receipt>>;
  /** All of its output, over all restarts. */
  logs(): string;
  /** Sends the signal and waits for the end. Default: SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
  /** Sends SIGTERM and waits. Throws if it has not ended within 40 seconds. */
  stop(): Promise<Exit>;
  /** Starts it again on the same data and ports. Stops it first if it is running. */
  restart(env?: Readonly<Record<string, string>>): Promise<void>;
  /** Stops it and removes everything that the harness created for it. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const startLimit = 120_000;
/** Longer than the service drains. */
const stopLimit = 40_000;
const seeds = ["/api/agents/seed", "/api/tasks/seed", "/api/tasks/triggers/seed", "/api/tasks/sources/seed"];

/** Starts the service and waits until `GET /health` answers 200. If it ends before, throws with all of its output. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const flavour = options.databaseUrl || options.dataDir ? null : (options.database ?? anyDatabase());
  const database = flavour === "postgres" ? await freshDatabase("migrated") : null;
  // Copies share the id of their installation, which is part of their keys in Redis.
  const needsOwnId = Boolean(options.env?.REDIS_URL);
  if (needsOwnId) await database?.query("update embedding_settings set installation = gen_random_uuid()");
  const folder = mkdtempSync(join(folderInMemory(), "signalbox-test-"));
  const databaseUrl = options.databaseUrl ?? database?.url ?? null;
  if (flavour === "embedded") await copyCluster(join(folder, "data"), needsOwnId ? "empty" : "migrated");
  const cleanUp = async () => {
    await database?.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const service = await ChildService.start(options, folder, databaseUrl, cleanUp);
  if (options.seed) await seed(service);
  return service;
}

async function seed(service: Service): Promise<void> {
  for (const path of seeds) {
    const { status, body } = await service.post(path);
    if (status === 200) continue;
    await service.close();
    throw new Error(`POST ${path} answered ${status}: ${JSON.stringify(body)}\n${service.logs()}`);
  }
}

class ChildService implements Service {
  readonly url: string;
  readonly grpcPort: number;
  readonly folder: string;
  readonly databaseUrl: string | null;
  readonly get: JsonClient["get"];
  readonly post: JsonClient["post"];
  readonly put: JsonClient["put"];
  readonly del: JsonClient["del"];
  readonly #options: ServiceOptions;
  readonly #ports: readonly [number, number];
  readonly #cleanUp: () => Promise<void>;
  #child!: Running;
  #before = "";

  private constructor(
    options: ServiceOptions,
    folder: string,
    ports: [number, number],
    databaseUrl: string | null,
    cleanUp: () => Promise<void>,
  ) {
    this.#options = options;
    this.#ports = ports;
    this.#cleanUp = cleanUp;
    this.url = `http://127.0.0.1:${ports[0]}`;
    this.grpcPort = ports[1];
    this.folder = folder;
    this.databaseUrl = databaseUrl;
    const client = jsonClient(this.url, options.apiKey);
    this.get = client.get;
    this.post = client.post;
    this.put = client.put;
    this.del = client.del;
  }

  static async start(
    options: ServiceOptions,
    folder: string,
    databaseUrl: string | null,
    cleanUp: () => Promise<void>,
  ): Promise<Service> {
    for (let tries = 1; ; tries++) {
      const [port = 0, grpcPort = 0] = await freePorts(2);
      const service = new ChildService(options, folder, [port, grpcPort], databaseUrl, cleanUp);
      try {
        await service.#launch({});
        return service;
      } catch (error) {
        // Another process took a port between our check and the service's start.
        if (tries < 3 && /EADDRINUSE|AddrInUse/.test(service.logs())) continue;
        await cleanUp();
        throw error;
      }
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  webhook(payload: object, delivery: Delivery = {}): Promise<JsonAnswer<Receipt>> {
    const secret = this.#options.webhookSecret;
    return deliver(this, payload, secret === undefined ? delivery : { secret, ...delivery });
  }

  logs(): string {
    return this.#before + (this.#child?.logs() ?? "");
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<Exit> {
    this.#child.signal(signal);
    return this.#child.ended;
  }

  async stop(): Promise<Exit> {
    if (this.#child.exit) return this.#child.exit;
    this.#child.signal("SIGTERM");
    const exit = await Promise.race([this.#child.ended, sleep(stopLimit, null, { ref: false })]);
    if (exit) return exit;
    await this.kill("SIGKILL");
    throw new Error(`The service did not end within ${stopLimit} ms of SIGTERM.\n${this.logs()}`);
  }

  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.stop();
    this.#before = this.logs();
    await this.#launch(env);
  }

  async close(): Promise<void> {
    try {
      await this.stop();
    } finally {
      await this.#cleanUp();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #launch(env: Readonly<Record<string, string>>): Promise<void> {
    const { runtime = runtimeUnderTest(), sources, args = [], webhookSecret } = this.#options;
    const { dataDir = join(this.folder, "data") } = this.#options;
    const program = "runtime/main.ts";
    const own = {
      PORT: String(this.#ports[0]),
      GRPC_PORT: String(this.#ports[1]),
      ...(this.databaseUrl ? { DATABASE_URL: this.databaseUrl } : { DATA_DIR: dataDir }),
      ...(webhookSecret === undefined ? {} : { ALPHA_WEBHOOK_SECRET: webhookSecret }),
    };
    this.#child = run(runtime, sources ? join(sources, program) : program, {
      args,
      cwd: this.folder,
      env: { ...texts, ...own, ...this.#options.env, ...env },
    });
    const end = performance.now() + startLimit;
    for (let tries = 1; ; tries++) {
      const { exit } = this.#child;
      // Checked first, because if the port was taken, another process would answer instead.
      if (exit)
        throw new Error(`The service ended before it served (code ${exit.code}, signal ${exit.signal}):\n${this.#child.logs()}`);
      // A refused request costs a millisecond of processor time, so few are sent before the service writes that it listens. One
      // of another version may use other words.
      if ((tries % 10 === 0 || this.#child.logs().includes(" listens on ")) && (await healthy(this.url))) return;
      if (performance.now() > end) {
        await this.kill();
        throw new Error(`The service did not serve within ${startLimit} ms:\n${this.#child.logs()}`);
      }
      await sleep(50);
    }
  }
}

async function healthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
