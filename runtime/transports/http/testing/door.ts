import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connectEmbedded, type Database, type Sql } from "../../../platform/database/client.ts";
import { openEmbedded } from "../../../platform/database/embedded.ts";
import { migrate } from "../../../platform/database/migrate.ts";
import { copyCluster, folderInMemory } from "../../../platform/database/test-folder.ts";
import type { Log } from "../../../platform/log.ts";
import type { BoundOperation } from "../../../platform/operation.ts";
import { createApp } from "../app.ts";
import type { Authenticate } from "../authenticate.ts";

export const noLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => noLog };

export interface Answer {
  readonly status: number;
  readonly total: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

/** The HTTP API of some operations, on a separate embedded database with all migrations. */
export interface Door {
  readonly sql: Sql;
  readonly database: Database;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  put(path: string, body: unknown): Promise<Answer>;
  del(path: string): Promise<Answer>;
  close(): Promise<void>;
}

const anyone: Authenticate = async () => ({ kind: "anonymous", name: "anyone", scopes: ["read", "write", "admin"] });

export async function openDoor(
  bind: (database: Database) => readonly BoundOperation[] | Promise<readonly BoundOperation[]>,
  authenticate: (database: Database) => Authenticate | Promise<Authenticate> = () => anyone,
): Promise<Door> {
  const folder = mkdtempSync(join(folderInMemory(), "signalbox-door-"));
  await copyCluster(join(folder, "data"));
  const database = connectEmbedded(await openEmbedded(join(folder, "data")));
  const { sql } = database;
  await migrate(database, noLog);
  const app = createApp({
    operations: await bind(database),
    authenticate: await authenticate(database),
    context: (request, actor) => ({ sql, log: noLog, actor, signal: request.signal }),
    maxBodyBytes: 1_048_576,
    log: noLog,
    version: "0.0.0",
  });
  const send: Door["send"] = async (method, path, body, headers = {}) => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const response = await app.request(path, { method, headers: { ...type, ...headers }, ...content });
    const text = await response.text();
    const total = response.headers.get("x-total-count");
    return { status: response.status, total: total === null ? null : Number(total), body: text === "" ? null : JSON.parse(text) };
  };
  return {
    sql,
    database,
    send,
    get: (path) => send("GET", path),
    post: (path, body) => send("POST", path, body),
    put: (path, body) => send("PUT", path, body),
    del: (path) => send("DELETE", path),
    close: async () => {
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
