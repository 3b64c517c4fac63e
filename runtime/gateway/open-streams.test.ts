import { afterAll, beforeAll, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { openBus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { OpenStreams } from "./open-streams.ts";
import { findLeased, findSession, insertSession, insertStream, renew, type Session } from "./queries.ts";

let door: Door;
let session: Session;
beforeAll(async () => {
  door = await openDoor(async (database) => agentOperations(await openBus(database, noLog)));
  await door.post("/api/agents", { id: "worker", name: "Worker", role_id: "dev", prompt: "p" });
  await insertSession(
    door.sql,
    { id_hash: "hash", agent_id: "worker", secret_hash: null, key_hash: null, client_version: null },
    600,
  );
  session = (await findSession(door.sql, "hash", [])) as Session;
}, 60_000);
afterAll(() => door?.close());

test("a stream that could not be announced is dropped, and the next one is served", async () => {
  const bus = await openBus(door.database, noLog);
  let announced = 0;
  bus.on("streams", () => {
    announced++;
    if (announced === 1) throw new Error("the database went away");
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
  expect(announced).toBe(4);
  await streams.close();
  await bus.close();
});

test("an announcement without an answer ends the streams that wait for it, and the next stream is served", async () => {
  const bus = await openBus(door.database, noLog);
  let answers = false;
  bus.on("streams", () => (answers ? undefined : new Promise<void>(() => {})));
  const options = { sql: door.sql, bus, log: noLog, leaseSeconds: 30, keys: [], publishMs: 50 };
  const streams = new OpenStreams(options);
  const abort = new AbortController();
  const receive = () => streams.receive(session, 1, abort.signal)[Symbol.asyncIterator]();
  const refusal = { code: "unavailable", retryAfter: 2, message: expect.stringContaining("Connect again") };
  await Promise.all([1, 2].map(() => expect(receive().next()).rejects.toMatchObject(refusal)));
  expect(await door.sql`select 1 from agent_streams`).toHaveLength(0);

  answers = true;
  // Longer than a busy machine takes to answer.
  options.publishMs = 60_000;
  const next = receive().next();
  await expect.poll(() => door.sql`select 1 from agent_streams`).toHaveLength(1);
  abort.abort();
  expect(await next).toMatchObject({ done: true });
  await streams.close();
  await bus.close();
});

test("a stream that could not be announced does not wait until its end is announced", async () => {
  const bus = await openBus(door.database, noLog);
  const end = Promise.withResolvers<void>();
  let isFirst = true;
  bus.on("streams", () => {
    if (!isFirst) return end.promise;
    isFirst = false;
    throw new Error("the database went away");
  });
  // Longer than the test may take.
  const streams = new OpenStreams({ sql: door.sql, bus, log: noLog, leaseSeconds: 30, keys: [], publishMs: 600_000 });
  const receive = streams.receive(session, 1, new AbortController().signal);
  await expect(receive.next()).rejects.toThrow("the database went away");
  expect(await door.sql`select 1 from agent_streams`).toHaveLength(0);
  end.resolve();
  await streams.close();
  await bus.close();
});

test("an agent whose first streams begin at the same moment is announced", async () => {
  const bus = await openBus(door.database, noLog);
  let announced = 0;
  bus.on("streams", () => void announced++);
  // The database answers both in one turn.
  const stored: ((rows: []) => void)[] = [];
  const store = (done: (rows: []) => void) => {
    if (stored.push(done) === 2) for (const one of stored) one([]);
  };
  const tag = (parts: TemplateStringsArray, ...values: never[]) =>
    String(parts).includes("insert into agent_streams") ? new Promise(store) : door.sql(parts, ...values);
  const streams = new OpenStreams({ sql: tag as unknown as Sql, bus, log: noLog, leaseSeconds: 30, keys: [] });
  const abort = new AbortController();
  const next = [1, 2].map(() => streams.receive(session, 1, abort.signal)[Symbol.asyncIterator]().next());
  await expect.poll(() => announced).toBe(1);
  abort.abort();
  await Promise.all(next);
  await streams.close();
  await bus.close();
});

test("a heartbeat returns each task whose result would be accepted, and renews only those of open streams", async () => {
  const { sql } = door;
  const taskOf = async (streamSeconds: number) => {
    const [id, stream] = [newId(), newId()];
    await insertStream(sql, { id: stream, agent_id: "worker", session_hash: "hash" }, streamSeconds);
    await sql`insert into webhook_events (id, source, slug, event_name, outcome, headers, body) values (${id}, 'alpha', 'alpha', 'issues', 'dispatched', '{}', '')`;
    await sql`insert into task_executions (id, event_id, task_id, source, slug, canonical_trigger, content, state, lease, lease_expires_at, stream_id)
      values (${id}, ${id}, 'triage', 'alpha', 'alpha', 'issue.created', '', 'running', ${newId()}, now() + interval '1 second', ${stream})`;
    return id;
  };
  const [ofOpen, ofExpired] = [await taskOf(15), await taskOf(-1)];
  const renewed = await renew(sql, "hash", { sessionSeconds: 60, leaseSeconds: 30 });
  expect(renewed?.execution_ids.sort()).toEqual([ofOpen, ofExpired].sort());
  for (const id of [ofOpen, ofExpired]) expect(await findLeased(sql, "hash", id)).toMatchObject({ id });
  const long = await sql`select id from task_executions where lease_expires_at > now() + interval '10 seconds'`;
  expect(long).toEqual([{ id: ofOpen }]);
});
