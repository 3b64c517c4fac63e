import { afterAll, beforeAll, expect, test } from "vitest";
import { noLog } from "../transports/http/testing/door.ts";
import { openBus, type Topic } from "./bus.ts";
import { type TestDatabase, testDatabase, testServer } from "./database/test-database.ts";

let server: TestDatabase | null = null;
beforeAll(async () => {
  if (testServer) server = await testDatabase(testServer, { replicas: 2, max: 2 });
}, 60_000);
afterAll(() => server?.drop());

test("a failing listener does not stop others, here or on another replica", { tags: ["postgres"] }, async () => {
  const buses = await Promise.all((server?.pools ?? []).map((database) => openBus(database, noLog)));
  const heard: string[] = [];
  const listen = (bus: number, topic: Topic, name: string) => buses[bus]?.on(topic, (payload) => void heard.push(name + payload));
  buses[0]?.on("queue", () => {
    throw new Error("the database went away");
  });
  listen(0, "queue", "here ");
  listen(1, "queue", "there ");
  await expect(buses[0]?.publish("queue", "it")).rejects.toThrow("the database went away");
  await expect.poll(() => heard).toEqual(["here it", "there it"]);
  await Promise.all(buses.map((bus) => bus.close()));
});

test("a replica whose connection was lost listens again, and reads what it may have missed", { tags: ["postgres"] }, async () => {
  const [own, other] = server?.pools ?? [];
  if (!own || !other) throw new Error("no pools");
  const buses = await Promise.all([own, other].map((database) => openBus(database, noLog)));
  const heard: string[] = [];
  buses[0]?.on("mappings", (payload) => void heard.push(`mappings ${payload}`));
  buses[0]?.on("cancel", (payload) => void heard.push(`cancel ${payload}`));
  await own.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen %'`;
  await expect.poll(() => heard).toEqual(["mappings "]);
  await buses[1]?.publish("cancel", "it");
  await expect.poll(() => heard).toEqual(["mappings ", "cancel it"]);
  // Messages at the same time share a transaction.
  const ids = Array.from({ length: 50 }, (_, i) => `id-${i}`);
  await Promise.all([...ids, ...ids].map((id) => buses[1]?.publish("cancel", id)));
  await expect.poll(() => heard.slice(2)).toEqual(ids.map((id) => `cancel ${id}`));
  for (const bus of buses) bus.close();
});
