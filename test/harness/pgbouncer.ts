import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import type { FreshDatabase } from "./databases.ts";
import { runProgram } from "./process.ts";
import { eventually } from "./wait.ts";

interface Pooler {
  /** The address of the same database through the pooler. */
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A PgBouncer in front of a database, which in the mode `transaction` assigns a server session to one transaction at a time: for
 * tests with the tag `pgbouncer`.
 */
export async function startPooler(databaseUrl: string, mode: "transaction" | "session" = "transaction"): Promise<Pooler> {
  const command = inject("pgbouncer");
  if (command === "") throw new Error('there is no pgbouncer: give this test the tag "pgbouncer"');
  const server = new URL(databaseUrl);
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), "signalbox-pgbouncer-"));
  const users = join(folder, "users.txt");
  const text = `[databases]
* = host=${server.hostname} port=${server.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 40
max_client_conn = 200
`;
  writeFileSync(users, `"${decodeURIComponent(server.username)}" "${decodeURIComponent(server.password)}"\n`);
  writeFileSync(join(folder, "pgbouncer.ini"), text);
  // It refuses to run as root, and must be able to read its files as the other user.
  chmodSync(folder, 0o755);
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const program = runProgram(command, [...user, join(folder, "pgbouncer.ini")], { env: {} });
  await eventually(() => /process up/.test(program.logs()));
  server.hostname = "127.0.0.1";
  server.port = String(port);
  const dispose = async () => {
    program.signal("SIGKILL");
    await program.ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: server.href, [Symbol.asyncDispose]: dispose };
}

/** Number of sessions of a database that listen for notifications. */
export async function listeningSessions(database: FreshDatabase): Promise<number> {
  const found = "select 1 from pg_stat_activity where datname = current_database() and query ilike 'listen %'";
  return (await database.query(found)).length;
}
