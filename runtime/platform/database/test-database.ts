import { randomBytes } from "node:crypto";
import type { Log } from "../log.ts";
import { connectPostgres, type Database } from "./client.ts";
import { migrate } from "./migrate.ts";

/** The real server of tests, for behaviour that the embedded database with its one session cannot show. */
export const testServer = process.env.TEST_DATABASE_URL;
const silent: Log = { info() {}, warn() {}, error() {}, with: () => silent };

export interface TestDatabase {
  /** As many pools as replicas were asked for. */
  readonly pools: readonly Database[];
  drop(): Promise<void>;
}

/** A migrated database of its own on `testServer`. `max`: the connections of each pool. */
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
