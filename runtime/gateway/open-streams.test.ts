import { afterAll, beforeAll, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { openBus } from "../platform/bus.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { OpenStreams } from "./open-streams.ts";
import { findSession, insertSession, type Session } from "./queries.ts";

let door: Door;
let session: Session;
beforeAll(async () => {
  door = await openDoor(async (database) => agentOperations(await openBus(database, noLog)));
  await door.post("/api/agents", { id: "worker", name: "Worker", role_id: "dev", prompt: "p" });
  await insertSession(
    door.sql,
    { id_hash: "hash", agent_id: "worker", secret_hash: null, key_hash: null, client_version: null },
    60,
  );
  session = (await findSession(door.sql, "hash", [])) as Session;
}, 60_000);
afterAll(() => door?.close());

test("a stream that could not be announced is dropped, and the next one is served", async () => {
  const bus = await openBus(door.database, noLog);
  let told = 0;
  bus.on("streams", () => {
    told++;
    if (told === 1) throw new Error("the database went away");
  });
  const streams = new OpenStreams({ sql: door.sql, bus, log: noLog, leaseSeconds: 30, keys: [] });
  const abort = new AbortController();
  const receive = () => streams.receive(session, 1, abort.signal)[Symbol.asyncIterator]();
  await expect(receive().next()).rejects.toThrow("the database went away");
  expect(await door.sql`select 1 from agent_streams`).toHaveLength(0);

  const next = receive().next();
  await expect.poll(() => door.sql`select 1 from agent_streams`).toHaveLength(1);
  abort.abort();
  expect(await next).toMatchObject({ done: true });
  // After the first stream, its end, the second, and its end: each was the agent's only one.
  expect(told).toBe(4);
  await streams.close();
  await bus.close();
});
