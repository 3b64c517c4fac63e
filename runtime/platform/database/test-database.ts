import { randomBytes } from "node:crypto";
import type { Log } from "../log.ts";
import { connectPostgres, type Database } from "./client.ts";
import { migrate } from "./migrate.ts";

/** The real server for tests of behaviour that the embedded database cannot show, because it has only one session. */
export const testServer = process.env.TEST_DATABASE_URL;
const silent: Log = { info() {}, warn() {}, error() {}, with: () => silent };

export interface TestDatabase {
  /** One pool for each requested replica. */
  readonly pools: readonly Database[];
  drop(): Promise<void>;
}

/** A separate migrated database on `testServer`. `max`: maximum number of connections of each pool. */
export async function testDatabase(server: string, { replicas, max }: { replicas: number; max: number }): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  const admin = connectPostgres(server, { max: 1 });
  await admin.sql.unsafe(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pools = Array.from({ length: replicas }, () => connectPostgres(url.href, { max }));
  await migrate(pools[0] as Database, silent);
  const drop = async () => {
    await Promise.all(pools.map((pool) => pool.close()));
    await admin.sql.unsafe(`drop database ${name} with (force)`);
    await admin.close();
  };
  return { pools, drop };
}
