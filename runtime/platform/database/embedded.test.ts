import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectEmbedded } from "./client.ts";
import { type Embedded, openEmbedded } from "./embedded.ts";
import { FolderInUse } from "./folder-claim.ts";
import { copyCluster, folderInMemory } from "./test-folder.ts";

const folder = join(mkdtempSync(join(folderInMemory(), "signalbox-embedded-")), "data");
let embedded: Embedded;
beforeAll(async () => {
  await copyCluster(folder);
  embedded = await openEmbedded(folder);
}, 120_000);
afterAll(async () => {
  await embedded?.close();
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

/** A client that does not close the database when it ends. */
const client = () => connectEmbedded({ ...embedded, connect: () => embedded.connect(), close: async () => {} });

test("a client that disconnects properly is released, and the next one is served", async () => {
  for (const n of [1, 2]) {
    const { sql } = client();
    expect(await sql`select ${n}::int as n`).toEqual([{ n }]);
    // Without a limit, because it ends when its connection is closed.
    await sql.end();
  }
});

test("so is a client that just drops the connection", async () => {
  const stream = embedded.connect();
  stream.resume().end();
  await once(stream, "close");
  expect(stream).toMatchObject({ readyState: "closed" });
  const { sql } = client();
  expect(await sql`select 1 as n`).toEqual([{ n: 1 }]);
  await sql.end();
});

test("only this user can read the files: those of a copy, and those that the database creates", async () => {
  const { sql } = client();
  await sql`create table own as select repeat('x', 1000) as text from generate_series(1, 1000)`;
  await sql`checkpoint`;
  await sql.end();
  const modes = readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
    (name) => statSync(join(folder, name)).mode & 0o777,
  );
  expect(modes.length).toBeGreaterThan(900);
  expect([...new Set(modes)].sort()).toEqual([0o600, 0o700]);
});

test("files that others could read become private, also in a folder that is private", async () => {
  const copied = join(folder, "../copied");
  await copyCluster(copied);
  chmodSync(join(copied, "pg/PG_VERSION"), 0o644);
  chmodSync(join(copied, "pg/global/pg_control"), 0o666);
  await (await openEmbedded(copied)).close();
  const modes = [".", "pg/PG_VERSION", "pg/global/pg_control"].map((name) => statSync(join(copied, name)).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600, 0o600]);
});

test("of several processes that open a folder at once one gets it, also after a kill -9", async () => {
  const other = join(folder, "../other");
  await copyCluster(other);
  for (const round of [1, 2]) {
    const results = await Promise.allSettled(Array.from({ length: 4 }, () => openEmbedded(other)));
    const opened = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const refused = results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    expect([round, opened.length, refused.filter((error) => error instanceof FolderInUse).length]).toEqual([round, 1, 3]);
    await expect(openEmbedded(other)).rejects.toThrow("is in use by another Signalbox process");
    await opened[0]?.close();
    // What a killed process leaves: a socket without a listening process.
    if (round === 1) spawnSync(process.execPath, ["-e", dyingListener, join(other, "signalbox.sock")]);
  }
});

const dyingListener = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;
