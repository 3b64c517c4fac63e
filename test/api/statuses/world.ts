import { join } from "node:path";
import { inject } from "vitest";
import { type Model, startModel } from "../../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../../examples/demo/tracker.ts";
import { type JsonAnswer, sendJson } from "../../harness/json-client.ts";
import { type OwnRedis, ownRedis } from "../../harness/redis.ts";
import { type Service, startService } from "../../harness/service.ts";
import { surroundings, webhookSecret } from "../../harness/world.ts";
import { type Operation, operationOf } from "./document.ts";

/** A short-term memory of `bare`, made before its Redis is broken. */
export const inRedis = { key: "kept_in_redis", content: "Short-term.", scope: "task", task_id: "t" };

/** What is sent with a request to an operation. */
export interface Sent {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  /** A string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** `bare`: to the service where nothing is configured; `main` where absent. */
  readonly at?: "main" | "bare";
}
export type Answer = JsonAnswer<unknown>;

/** Two services: `main` has keys, a tracker and a model; `bare` has nothing but a Redis, which `breakRedis` kills. */
export interface World {
  readonly main: Service;
  readonly bare: Service;
  readonly tracker: Tracker;
  readonly model: Model;
  /** A key with all scopes, and one with `read` alone. */
  readonly adminKey: string;
  readonly readKey: string;
  /** Sends a request to an operation, as an admin where it names no other headers. */
  call(id: string, sent?: Sent): Promise<Answer>;
  /** The body of a call that must succeed. */
  make<T = { id: string }>(id: string, sent?: Sent): Promise<T>;
  breakRedis(): Promise<void>;
  close(): Promise<void>;
}

/** Whether there is a Redis to break. */
const hasRedis = inject("redisServer").length > 0;
const adminKey = "the-key-of-an-admin";
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

export async function startWorld(): Promise<World> {
  const tracker = await startTracker({ token: "tracker-token", autoCreate: true });
  const model = await startModel();
  const redis = hasRedis ? await ownRedis() : null;
  const [main, bare] = await Promise.all([startMain(tracker, model), startBare(redis)]);
  const call = (id: string, sent: Sent = {}) => send(sent.at === "bare" ? bare : main, operationOf(id), sent);
  const make = async <T>(id: string, sent?: Sent) => {
    const { status, body } = await call(id, sent);
    if (status >= 300) throw new Error(`${id} answered ${status}: ${JSON.stringify(body)}`);
    return body as T;
  };
  await make("agents.seed-capabilities");
  if (redis) await make("memory.create", { at: "bare", body: inRedis });
  const { key: readKey } = await make<{ key: string }>("keys.create", { body: { name: "reader", scopes: ["read"] } });
  const close = async () => {
    await Promise.all([main.close(), bare.close()]);
    await Promise.all([tracker.close(), model.close(), redis?.kill()]);
  };
  return { main, bare, tracker, model, adminKey, readKey, call, make, close, breakRedis: async () => redis?.kill() };
}

const startMain = (tracker: Tracker, model: Model) =>
  startService({
    seed: true,
    apiKey: adminKey,
    webhookSecret,
    env: {
      ...surroundings(tracker, model),
      API_KEYS: adminKey,
      ENCRYPTION_KEY: "0".repeat(64),
      WATCHDOG_ENABLED: "true",
      EXECUTION_RETRY_LIMIT: "0",
      RATE_LIMIT_DEFAULT: "100000",
      HOST: "127.0.0.1",
      ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8",
      SIGNALBOX_PLUGINS: join(import.meta.dirname, "../../../examples/clock/clock.ts"),
    },
  });

const startBare = (redis: OwnRedis | null) => startService({ seed: true, env: redis ? { REDIS_URL: redis.url } : {} });

async function send(service: Service, { method, path, query: known }: Operation, sent: Sent): Promise<Answer> {
  const { params = {}, query = {}, body, headers = bearer(adminKey) } = sent;
  const unknown = Object.keys(query).find((name) => !known.some((one) => one.name === name));
  if (unknown) throw new Error(`${method} ${path} has no ${unknown} in its query`);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new Error(`${method} ${path}: what is ${name}?`);
    return String(value);
  });
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const url = `${service.url}${filled}${search.size > 0 ? `?${search}` : ""}`;
  return sendJson(url, method, body, { headers, timeout: 60_000 });
}
