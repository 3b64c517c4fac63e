import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { type Bus, openBus } from "../platform/bus.ts";
import { createAuthenticate } from "../transports/http/authenticate.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { type Keyring, openKeyring } from "./keyring.ts";
import { keyOperations } from "./operations.ts";

let door: Door;
let bus: Bus;
let ring: Keyring;
beforeAll(async () => {
  door = await openDoor(
    async (database) => {
      bus = await openBus(database, noLog);
      ring = await openKeyring(database.sql, bus, noLog, []);
      return [...keyOperations(bus), ...agentOperations(bus)];
    },
    () => createAuthenticate({ isOpen: () => ring.isOpen(), find: (key) => ring.find(key) }),
  );
}, 60_000);
afterAll(() => door?.close());

const as = (key: string, method: string, path: string, body?: unknown) =>
  door.send(method, path, body, { authorization: `Bearer ${key}` });
const agent = (id: string) => ({ id, name: id, role_id: "qa", prompt: "p" });
let admin = "";

describe("API keys, in the order of their life", () => {
  test("without keys everyone may do everything; invalid keys are refused", async () => {
    expect((await door.get("/api/agents")).status).toBe(200);
    expect((await door.get("/api/keys")).body).toEqual([]);
    for (const body of [{}, { name: "x" }, { name: "x", scopes: [] }, { name: "x", scopes: ["all"] }, { scopes: ["read"] }])
      expect((await door.post("/api/keys", body)).status).toBe(400);
    expect(ring.open).toBe(true);
  });

  test("the first is shown once, is stored hashed, and closes the API at once", async () => {
    const made = await door.post("/api/keys", { name: "boss", scopes: ["admin", "admin"] });
    expect(made).toMatchObject({ status: 201, body: { name: "boss", scopes: ["admin"], last_used_at: null, revoked_at: null } });
    admin = made.body.key;
    expect(admin).toMatch(/^sbx_[\w-]{43}$/);
    const rows = await door.sql`select * from api_keys`;
    expect(JSON.stringify(rows)).not.toContain(admin.slice(8));
    expect(ring.open).toBe(false);
    expect((await door.get("/api/agents")).status).toBe(401);
    const listed = await as(admin, "GET", "/api/keys");
    expect(listed).toMatchObject({ status: 200, total: 1, body: [{ hint: expect.stringContaining(admin.slice(0, 8)) }] });
    expect(listed.body[0]).not.toHaveProperty("key");
  });

  test("admin implies write implies read; what a key does not allow is 403 and says so", async () => {
    const make = async (name: string) => (await as(admin, "POST", "/api/keys", { name, scopes: [name] })).body.key;
    const [read, write] = [await make("read"), await make("write")];
    const got = async (key: string) => [
      (await as(key, "GET", "/api/agents")).status,
      (await as(key, "POST", "/api/agents/seed")).status,
      (await as(key, "GET", "/api/keys")).status,
    ];
    expect(await got(read)).toEqual([200, 403, 403]);
    expect(await got(write)).toEqual([200, 200, 403]);
    expect(await got(admin)).toEqual([200, 200, 200]);
    expect((await as(read, "POST", "/api/agents", agent("no"))).body.error).toBe(
      'The API key "read" has the scopes read; this request needs the scope write.',
    );
    expect((await as(write, "POST", "/api/keys", { name: "mine", scopes: ["admin"] })).status).toBe(403);
  });

  test.each([
    ["no header", {}],
    ["another scheme", { authorization: "Basic abc" }],
    ["an unknown key", { authorization: "Bearer sbx_unknown" }],
    ["an empty key", { authorization: "Bearer " }],
    ["two keys", { authorization: "Bearer a b" }],
  ])("%s is 401", async (_, headers) => {
    const answer = await door.send("GET", "/api/agents", undefined, headers);
    expect([answer.status, Object.keys(answer.body)]).toEqual([401, ["error"]]);
  });

  test("names in use are taken; the name of a revoked key is free", async () => {
    const made = await as(admin, "POST", "/api/keys", { name: "ci", scopes: ["read"] });
    expect((await as(admin, "POST", "/api/keys", { name: "ci", scopes: ["write"] })).status).toBe(409);
    expect((await as(made.body.key, "GET", "/api/agents")).status).toBe(200);
    expect(await as(admin, "DELETE", `/api/keys/${made.body.id}`)).toMatchObject({ status: 204, body: null });
    expect((await as(made.body.key, "GET", "/api/agents")).status).toBe(401);
    expect((await as(admin, "DELETE", `/api/keys/${made.body.id}`)).status).toBe(404);
    expect((await as(admin, "DELETE", "/api/keys/none")).status).toBe(400);
    expect((await as(admin, "POST", "/api/keys", { name: "ci", scopes: ["read"] })).status).toBe(201);
  });

  test("use is noted", async () => {
    await expect.poll(async () => (await as(admin, "GET", "/api/keys")).body[0].last_used_at).not.toBeNull();
  });

  test("a key that another process creates is valid within seconds", async () => {
    const made = (await as(admin, "POST", "/api/keys", { name: "elsewhere", scopes: ["read"] })).body;
    expect((await as(made.key, "GET", "/api/agents")).status).toBe(200);
    await door.sql`update api_keys set revoked_at = now() where id = ${made.id}`;
    await expect.poll(async () => (await as(made.key, "GET", "/api/agents")).status, { timeout: 5_000 }).toBe(401);
  });

  test("after the last one is revoked the API stays closed", async () => {
    await door.sql`update api_keys set revoked_at = now() where revoked_at is null`;
    await bus.publish("keys");
    expect((await as(admin, "GET", "/api/agents")).status).toBe(401);
    const fresh = await openKeyring(door.sql, bus, noLog, []);
    expect([fresh.open, await fresh.isOpen(), ring.open]).toEqual([false, false, false]);
  });

  test("keys of API_KEYS may do everything, beside those in the database", async () => {
    const fixed = await openKeyring(door.sql, bus, noLog, ["from-the-environment"]);
    expect(await fixed.find("from-the-environment")).toMatchObject({
      name: "API_KEYS",
      scopes: expect.arrayContaining(["admin", "read"]),
    });
    expect(await fixed.find("another")).toBeUndefined();
  });
});
