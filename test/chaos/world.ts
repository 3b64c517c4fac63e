import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { startUrlProxy, type TcpProxy } from "../harness/tcp-proxy.ts";
import { eventually } from "../harness/wait.ts";
import { Approver } from "./approver.ts";
import { Ledger } from "./ledger.ts";
import { type ChaosModel, startChaosModel } from "./model.ts";
import type { ChaosOptions } from "./options.ts";
import { type Random, seeded } from "./random.ts";
import { Replica } from "./replica.ts";
import { Sender } from "./sender.ts";
import { Trackers } from "./trackers.ts";

export type WorldOptions = Pick<ChaosOptions, "seed" | "lease" | "replicas" | "redis" | "database" | "backlog" | "logs"> & {
  /** Names of the tasks that each delivery starts: lower-case letters. */
  readonly tasks: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Replicas on one database, the trackers to which they write, the model that they call, and the platforms that send webhooks. */
export interface World {
  readonly options: WorldOptions;
  readonly replicas: readonly Replica[];
  readonly trackers: Trackers;
  readonly model: ChaosModel;
  readonly sender: Sender;
  /** Approves the proposals of the staged task. */
  readonly approver: Approver;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Folder of the replicas' logs. */
  readonly logs: string;
  /** The PostgreSQL database, without a proxy; `null` if each replica has an embedded one. */
  readonly databaseUrl: string | null;
  /** Ends all faults of the network and of the processes, and waits until every replica is ready. Returns those that are not. */
  heal(): Promise<string[]>;
  close(): Promise<void>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const random = seeded(options.seed);
  const ledger = new Ledger();
  const database = options.database === "postgres" ? await freshDatabase() : null;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-chaos-"));
  const logs = options.logs ?? mkdtempSync(join(tmpdir(), "signalbox-chaos-logs-"));
  const trackers = await Trackers.start(ledger, random.stream("trackers"));
  const model = await startChaosModel(random.stream("model"), ledger);
  const env = { ...trackers.env(), LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...settings(options), ...options.env };
  const replicas = await makeReplicas(options, { env, database, folder, logs });
  const { tasks, backlog } = options;
  const sender = new Sender({ replicas, trackers, ledger, random: random.stream("sender"), tasks, backlog });
  const proxies = replicas.flatMap(({ postgres, redis }) => [postgres, redis]).filter((proxy) => proxy !== null);
  const heal = async () => {
    trackers.calm();
    model.trouble = 0;
    await Promise.all(proxies.map((proxy) => proxy.mend({ held: "reset" })));
    for (const replica of replicas) {
      replica.thaw();
      replica.start();
    }
    const served = await Promise.all(replicas.map((replica) => replica.serves(90_000).then(...[() => null, () => replica.name])));
    return served.filter((name) => name !== null);
  };
  const approver = new Approver(replicas, random.stream("approver"));
  const close = async () => {
    await approver.stop();
    await Promise.all(replicas.map((replica) => replica.kill()));
    await Promise.all([...proxies.map((proxy) => proxy.close()), trackers.close(), model.close()]);
    await database?.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  const world: World = {
    options,
    replicas,
    trackers,
    model,
    sender,
    approver,
    ledger,
    random,
    logs,
    databaseUrl: database?.url ?? null,
    heal,
    close,
  };
  try {
    for (const replica of replicas) replica.start();
    await Promise.all(replicas.map((replica) => replica.serves(120_000)));
    await seed(world);
    return world;
  } catch (error) {
    await close();
    throw error;
  }
}

const settings = ({ lease }: WorldOptions): Record<string, string> => ({
  EXECUTION_LEASE_SECONDS: String(lease),
  EXECUTION_RETRY_DELAY_SECONDS: "1",
  EXECUTION_RETRY_LIMIT: "7",
  LLM_TIMEOUT_SECONDS: "10",
  WATCHDOG_ENABLED: "true",
  // One author writes everything, and all of it must run: other tests cover the limits of trust.
  WRITE_MIN_STANDING: "none",
  BUDGET_AUTHOR_RUNS_PER_HOUR: "0",
  BUDGET_ISSUE_RUNS_PER_HOUR: "0",
  LOOP_MAX_HOPS: "0",
});

interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly database: FreshDatabase | null;
  readonly folder: string;
  readonly logs: string;
}

async function makeReplicas(options: WorldOptions, { env, database, folder, logs }: Surroundings): Promise<Replica[]> {
  const ports = await freePorts(options.replicas * 2);
  const redisUrl = options.redis ? process.env.TEST_REDIS_URL : undefined;
  return Promise.all(
    Array.from({ length: options.replicas }, async (_, at) => {
      const name = `replica-${at + 1}`;
      const [port = 0, grpc = 0] = ports.slice(at * 2);
      const postgres = database && (await startUrlProxy(database.url));
      const redis: (TcpProxy & { url: string }) | null = redisUrl ? await startUrlProxy(redisUrl) : null;
      const own = join(folder, name);
      const where = postgres ? { DATABASE_URL: postgres.url } : { DATA_DIR: join(own, "data") };
      const all = { ...env, ...where, ...(redis && { REDIS_URL: redis.url }), PORT: String(port), GRPC_PORT: String(grpc) };
      return new Replica({ name, port, env: all, folder: own, logs, postgres, redis });
    }),
  );
}

/** Tasks whose agents have special policies. */
const special: Readonly<Record<string, { readonly actor_id: string; readonly policy: object }>> = {
  staged: { actor_id: "ta_default", policy: { staged: true } },
  living: { actor_id: "qa_default", policy: { presence: "comment" } },
};

/** Creates the agents, the mappings of the sources, and the tasks, and waits until each replica knows them. */
async function seed({ replicas, options: { tasks } }: World): Promise<void> {
  const [first] = replicas as [Replica];
  const made = [await first.client.post("/api/agents/seed"), await first.client.post("/api/tasks/sources/seed")];
  for (const id of tasks) {
    const { actor_id, policy } = special[id] ?? { actor_id: "pm_default", policy: {} };
    made.push(await first.client.put(`/api/agents/${actor_id}`, { policy }));
    made.push(await first.client.post("/api/tasks", { id, name: id, description: `Do ${id}.`, actor_id }));
    made.push(await first.client.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: id }));
  }
  const wrong = made.find(({ status }) => status >= 300);
  if (wrong) throw new Error(`a task could not be made: ${wrong.status} ${JSON.stringify(wrong.body)}`);
  const resolved = "/api/tasks/resolve?source=alpha&event=issues&action=opened";
  for (const { client } of replicas)
    await eventually(async () => (await client.get<{ tasks: unknown[] }>(resolved)).body.tasks.length === tasks.length);
}
