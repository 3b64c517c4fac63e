import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { openBus } from "../platform/bus.ts";
import { newId } from "../platform/ids.ts";
import { createVault } from "../platform/vault.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { findIntegration, insertIntegration, updateIntegration } from "./queries.ts";
import { rotateSecret } from "./rotate.ts";
import { openIntegrations, purposeOf } from "./store.ts";

const vault = createVault(["00".repeat(32)]);
const source = (version: string) =>
  ({
    name: "tickets",
    plugin: "tickets",
    version,
    builtIn: false,
    sandboxed: true,
    adapter: { connection: z.object({ token: z.string() }), required: ["token"], secrets: ["token"] },
  }) as unknown as SourceEntry;

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());
beforeEach(() => door.sql`delete from integrations`);

/** An integration whose source a plugin provides, and a store with it. */
async function open(first: SourceEntry | undefined) {
  const id = newId();
  const credentials = await vault.seal({ token: "secret" }, purposeOf(id));
  const row = {
    id,
    source: "tickets",
    plugin: "tickets",
    name: "Ours",
    credentials,
    members: ["token"],
    agent_id: null,
    project_id: null,
  };
  await insertIntegration(door.sql, row);
  const bus = await openBus(door.database, noLog);
  const told: unknown[] = [];
  const plugins = { tickets: first };
  const store = await openIntegrations({
    sql: door.sql,
    bus,
    log: noLog,
    vault,
    sourceOf: () => plugins.tickets,
    environmentOf: () => ({}),
    alarm: (message) => told.push(message),
  });
  return { id, store, told, plugins };
}

test("an integration uses the current version of its plugin", async () => {
  const [before, after] = [source("1.0.0"), source("1.1.0")];
  const { id, store, plugins } = await open(before);
  expect((await store.find(id))?.source).toBe(before);
  plugins.tickets = after;
  expect((await store.find(id))?.source).toBe(after);
  await store.refresh();
  expect(store.forWork("tickets", { slug: id, project_id: null }, null)?.source).toBe(after);
  store.close();
});

test("an integration whose plugin is not loaded yet, as at every start, causes no warning", async () => {
  const { id, store, told, plugins } = await open(undefined);
  await expect(store.find(id)).rejects.toMatchObject({ code: "unavailable" });
  plugins.tickets = source("1.0.0");
  await store.refresh();
  expect(store.forWork("tickets", { slug: id, project_id: null }, null)?.settings).toEqual({ token: "secret" });
  expect(told).toEqual([]);
  store.close();
});

test("an integration whose plugin stays missing causes one warning", async () => {
  const { store, told } = await open(undefined);
  const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
  await store.refresh();
  await store.refresh();
  clock.mockRestore();
  expect(told).toEqual(["the credentials of an integration cannot be used"]);
  store.close();
});

test.each(["thief", "tickets-2"])(
  "its credentials are not given to the plugin %s, which now has a source with that name",
  async (plugin) => {
    const { id, store, told, plugins } = await open(source("1.0.0"));
    plugins.tickets = { ...source("2.0.0"), plugin } as SourceEntry;
    await store.refresh();
    await expect(store.find(id)).rejects.toMatchObject({ code: "unavailable" });
    expect(() => store.forWork("tickets", { slug: id, project_id: null }, null)).toThrow(/cannot be used/);
    expect(store.ofPlugin(plugin)).toEqual([]);
    expect(told).toEqual(["the credentials of an integration cannot be used"]);
    store.close();
  },
);

test("of two changes at the same time, the second is refused instead of discarding the first", async () => {
  const { id } = await open(source("1.0.0"));
  const before = await findIntegration(door.sql, id);
  if (!before) throw new Error("the integration is missing");
  const deps = { vault, sources: () => new Map([["tickets", source("1.0.0")]]) };
  const { row } = await rotateSecret(door.sql, before, undefined, deps);
  const refusal = { code: "conflict", message: "Another request changed the integration meanwhile. Send yours again." };
  await expect(rotateSecret(door.sql, before, undefined, deps)).rejects.toMatchObject(refusal);
  expect(await updateIntegration(door.sql, before, { name: "Theirs" })).toBeUndefined();
  expect(await findIntegration(door.sql, id)).toEqual(row);
  expect(await updateIntegration(door.sql, row, { name: "Theirs" })).toMatchObject({ name: "Theirs" });
});
