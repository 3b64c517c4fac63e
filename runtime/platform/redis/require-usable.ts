import { ConfigError } from "../config.ts";
import { isRefusal, reasonOf } from "./refusal.ts";

/** What is used of ioredis. */
interface Client {
  readonly options: { readonly db?: number | undefined };
  select(db: number): Promise<unknown>;
  info(section: string): Promise<string>;
}

/** Throws a `ConfigError` if the server can never be used. */
export async function requireUsable(client: Client): Promise<void> {
  await requireDatabase(client);
  await requireNoCluster(client);
}

/** The store of short-term memories changes several keys at once, which a cluster keeps on different servers. */
async function requireNoCluster(client: Client): Promise<void> {
  const info = await client.info("cluster").catch((error: Error) => {
    // A user may not be allowed to ask, and a proxy may not know the command.
    if (error.name !== "ReplyError" || !/^(NOPERM|ERR)\b/.test(error.message)) throw error;
    return "";
  });
  if (/^cluster_enabled:1/m.test(info))
    throw new ConfigError("REDIS_URL: the server is in cluster mode, which is not supported; name a Redis without it");
}

/** If the server refuses a database, the client works in database 0, where other programs may keep their data. */
async function requireDatabase(client: Client): Promise<void> {
  const { db } = client.options;
  if (!db) return;
  await client.select(db).catch((error: Error) => {
    if (error.name !== "ReplyError" || isRefusal(error)) throw error;
    throw new ConfigError(`REDIS_URL: the server refuses database ${db} (${reasonOf(error)}); name one that it has`);
  });
}
