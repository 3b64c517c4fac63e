import { createHash } from "node:crypto";
import { connect as connectTcp } from "node:net";
import { PluginError, type RedisAccess, type RedisReply } from "@signalbox/sdk";
import type { Redis as Client } from "ioredis";
import { ConfigError } from "../config.ts";
import type { Log } from "../log.ts";
import { isRefusal, reasonOf } from "./refusal.ts";
import { requireUsable } from "./require-usable.ts";

export interface Redis extends RedisAccess {
  /** Prefix of every key, so that several installations can share a server. */
  readonly prefix: string;
  /** The connection itself, for a library that requires one. */
  readonly connection: unknown;
  /** Why the server refuses commands although it answers, for example without memory for a write; `null` if it carries them out. */
  lastRefusal(): Refusal | null;
  close(): Promise<void>;
}

interface Refusal {
  readonly at: number;
  readonly reason: string;
}

/** Timeout of a command, in milliseconds. A healthy Redis responds within one millisecond. */
const commandMs = 1_000;
const connectMs = 2_000;
/**
 * If a connection gets no response for this time, in milliseconds, it is dead. The operating system would notice only after 15
 * minutes.
 */
const noResponseMs = 3_000;
/** Default address of Redis. */
const localUrl = "redis://127.0.0.1:6379";
const noRedis = "no Redis: short-term memories are kept in the database; set REDIS_URL to use one";

/**
 * Connects to the Redis at `REDIS_URL`. It is then required, but the start does not wait for it. Without the variable, tries
 * the default address once, and returns `null` if there is no Redis. Throws a `ConfigError` if the server cannot be used.
 */
export async function openRedis(url: string | undefined, prefix: string, log: Log): Promise<Redis | null> {
  const address = addressOf(url ?? localUrl);
  // Checked before the client package is loaded.
  if (url === undefined && !(await listens(address))) {
    log.info(noRedis, { tried: address });
    return null;
  }
  const client = await createClient(url ?? localUrl);
  let up = false;
  let closing = false;
  let lastError: unknown = null;
  /** The reason in the log; `null` before the first one and once Redis is available. */
  let loggedReason: string | null = null;
  let hasStarted = false;
  client.on("ready", () => {
    lastError = loggedReason = null;
    if (!up && !closing) log.info("Redis is available", { address });
    up = true;
  });
  client.on("close", () => {
    if (up && !closing) log.warn("the connection to Redis was lost; connecting again", { address });
    up = false;
  });
  client.on("error", (error) => {
    lastError = error;
    if (up) return;
    const reason = reasonOf(error);
    if (hasStarted && !closing && reason !== loggedReason) log.warn("Redis is unavailable", { address, error: reason });
    loggedReason = reason;
  });
  try {
    await client.connect();
    await client.ping();
    await requireUsable(client);
  } catch (error) {
    if (error instanceof ConfigError || url === undefined) {
      closing = true;
      client.disconnect();
      if (error instanceof ConfigError && url !== undefined) throw error;
      log.info(noRedis, { tried: address, error: reasonOf(lastError ?? error) });
      return null;
    }
    const reason = reasonOf(lastError ?? error);
    log.error("REDIS_URL: Redis is unavailable; short-term memories fail until it is available", { address, error: reason });
    client.once("ready", () => {
      requireUsable(client).catch((refused) => {
        if (!(refused instanceof ConfigError)) return;
        log.error(refused.message, { address });
        lastError = refused;
        client.disconnect();
      });
    });
  }
  hasStarted = true;
  const close = async () => {
    closing = true;
    client.disconnect();
  };
  const onRefusal = (reason: string) => log.warn("Redis refuses commands", { address, reason });
  return { ...access({ client, prefix, address, connectionError: () => lastError, onRefusal }), close };
}

/** Whether anything accepts connections at a host and port. */
function listens(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((done) => {
    const socket = connectTcp({ host: hostname, port: Number(port), timeout: connectMs });
    const end = (found: boolean) => {
      socket.destroy();
      done(found);
    };
    socket.once("connect", () => end(true));
    for (const event of ["error", "timeout"]) socket.once(event, () => end(false));
  });
}

/** A separate connection that subscribes to one channel and reconnects when it is lost. */
interface Subscription {
  publish(message: string): Promise<void>;
  /** Number of subscribers. */
  count(): Promise<number>;
  close(): void;
}

export async function subscribe(
  url: string | undefined,
  channel: string,
  onMessage: (message: string) => void,
  onReconnect: () => void,
): Promise<Subscription> {
  const [sender, receiver] = await Promise.all([createClient(url ?? localUrl), createClient(url ?? localUrl)]);
  let heard = false;
  receiver.on("message", (_, message: string) => onMessage(message));
  for (const client of [sender, receiver]) client.on("error", () => {});
  receiver.on("ready", () => {
    receiver.subscribe(channel).then(
      () => {
        if (heard) onReconnect();
        heard = true;
      },
      () => receiver.disconnect(true),
    );
  });
  // A connection that only listens would not notice that it is dead.
  const beat = setInterval(() => receiver.ping().catch(() => receiver.disconnect(true)), noResponseMs / 2);
  beat.unref();
  await Promise.all([sender, receiver].map((client) => client.connect().catch(() => {})));
  return {
    publish: async (message) => void (await sender.publish(channel, message)),
    count: async () => Number(((await sender.call("PUBSUB", "NUMSUB", channel)) as unknown[])[1]),
    close: () => {
      clearInterval(beat);
      for (const client of [sender, receiver]) client.disconnect();
    },
  };
}

async function createClient(url: string): Promise<Client> {
  // In a bundle, a package that is not an ES module has only a default export.
  const { default: ioredis } = await import("ioredis");
  return new ioredis.Redis(url, {
    lazyConnect: true,
    connectTimeout: connectMs,
    commandTimeout: commandMs,
    socketTimeout: noResponseMs,
    // Requests that cannot be sent fail immediately, so that callers do not accumulate while Redis is unavailable.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (times) => Math.min(2000, 50 * 2 ** Math.min(times, 6)),
    keepAlive: 10_000,
  });
}

interface AccessOptions {
  readonly client: Client;
  readonly prefix: string;
  readonly address: string;
  readonly connectionError: () => unknown;
  /** Called when the server begins to refuse commands. */
  readonly onRefusal: (reason: string) => void;
}

function access({ client, prefix, address, connectionError, onRefusal }: AccessOptions): Omit<Redis, "close"> {
  /** By command or script, because a server without memory still reads. */
  const refusals = new Map<string, Refusal>();
  const lastRefusal = () => [...refusals.values()].at(-1) ?? null;
  const noteRefusal = (command: string, reason: string) => {
    if (refusals.size === 0) onRefusal(reason);
    refusals.delete(command);
    refusals.set(command, { at: performance.now(), reason });
  };
  const translateErrors = async <T>(command: string, run: () => Promise<T>): Promise<T> => {
    try {
      const reply = await run();
      refusals.delete(command);
      return reply;
    } catch (error) {
      const isReply = error instanceof Error && error.name === "ReplyError";
      if (isReply && !isRefusal(error)) throw error;
      // Without a connection, the client's own error names only its options.
      const cause = isReply || client.status === "ready" ? error : (connectionError() ?? error);
      if (isReply) noteRefusal(command, reasonOf(error));
      throw new PluginError("unavailable", `Redis is unavailable (${address}, ${reasonOf(cause)}).`, { cause });
    }
  };
  const sent = new Map<string, string>();
  const script = async (source: string, keys: readonly string[], args: readonly (string | number)[]) => {
    const digest = sent.get(source) ?? createHash("sha1").update(source).digest("hex");
    sent.set(source, digest);
    try {
      return (await client.evalsha(digest, keys.length, ...keys, ...args.map(String))) as RedisReply;
    } catch (error) {
      // A restarted Redis has forgotten the script.
      if (!String(error).includes("NOSCRIPT")) throw error;
      return (await client.eval(source, keys.length, ...keys, ...args.map(String))) as RedisReply;
    }
  };
  return {
    prefix,
    connection: client,
    lastRefusal,
    call: (command, ...args) =>
      translateErrors(command, async () => (await client.call(command, ...args.map(String))) as RedisReply),
    script: (source, keys, args) => translateErrors(source, () => script(source, keys, args)),
  };
}

function addressOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return "REDIS_URL";
  }
}
