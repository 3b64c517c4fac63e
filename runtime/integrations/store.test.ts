import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { openBus } from "../platform/bus.ts";
import { retryOnChange } from "../platform/database/retry-on-change.ts";
import { newId } from "../platform/ids.ts";
import { createVault } from "../platform/vault.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { findIntegration, insertIntegration, type StoredIntegration, updateIntegration } from "./queries.ts";
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

test("changes at the same time do not discard one another", async () => {
  const { id } = await open(source("1.0.0"));
  const deps = { vault, sources: () => new Map([["tickets", source("1.0.0")]]) };
  const stored = async () => (await findIntegration(door.sql, id)) as StoredIntegration;
  const rotate = async (from?: StoredIntegration) => rotateSecret(door.sql, from ?? (await stored()), undefined, deps);
  const rename = async (from?: StoredIntegration) => updateIntegration(door.sql, from ?? (await stored()), { name: "Theirs" });
  const before = await stored();
  expect(await rotate(before)).toBeDefined();
  expect([await rotate(before), await rename(before)]).toEqual([undefined, undefined]);
  await Promise.all([rotate, rotate, rename].map((change) => retryOnChange<unknown>(() => change())));
  const { name, credentials } = await stored();
  expect(name).toBe("Theirs");
  const secrets = await vault.open(credentials, purposeOf(id));
  expect(secrets).toMatchObject({
    token: "secret",
    webhook_secret: expect.anything(),
    webhook_secret_previous: expect.anything(),
  });
});
