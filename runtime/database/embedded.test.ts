import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectEmbedded } from "./client.ts";
import { type Embedded, openEmbedded } from "./embedded.ts";
import { copyCluster } from "./test-folder.ts";

const folder = join(mkdtempSync(join(tmpdir(), "signalbox-embedded-")), "data");
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

test("a client that says goodbye is let go, and the next one is served", async () => {
  for (const n of [1, 2]) {
    const { sql } = client();
    expect(await sql`select ${n}::int as n`).toEqual([{ n }]);
    // Without a limit: it ends when its connection is closed.
    await sql.end();
  }
});

test("so is one that only leaves", async () => {
  const stream = embedded.connect();
  stream.resume().end();
  await once(stream, "close");
  expect(stream).toMatchObject({ readyState: "closed" });
  const { sql } = client();
  expect(await sql`select 1 as n`).toEqual([{ n: 1 }]);
  await sql.end();
});
