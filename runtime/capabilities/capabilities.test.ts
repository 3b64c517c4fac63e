import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { openBus } from "../platform/bus.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { capabilityOperations } from "./operations.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(async (database) => [...agentOperations(await openBus(database, noLog)), ...capabilityOperations]);
}, 60_000);
afterAll(() => door?.close());

const agent = (id: string) => door.post("/api/agents", { id, name: id, role_id: "ta", prompt: "You review." });

describe("capabilities of an agent", () => {
  test("are added, listed and removed", async () => {
    await agent("reviewer");
    const added = await door.post("/api/agents/reviewer/capabilities", { capability: "code_review" });
    expect(added).toMatchObject({ status: 201, body: { agent_id: "reviewer", capability: "code_review" } });
    expect(Object.keys(added.body).sort()).toEqual(["agent_id", "capability", "created_at", "id"]);
    await door.post("/api/agents/reviewer/capabilities", { capability: "Größe & scale" });
    const listed = await door.get("/api/agents/reviewer/capabilities?limit=1");
    expect(listed).toMatchObject({ status: 200, total: 2, body: [added.body] });
    expect((await door.get("/api/agents/reviewer")).body.capabilities).toEqual(["code_review", "Größe & scale"]);
    const path = `/api/agents/reviewer/capabilities/${added.body.id}`;
    expect(await door.del(path)).toMatchObject({ status: 204, body: null });
    expect((await door.del(path)).status).toBe(404);
    expect((await door.get("/api/agents/reviewer")).body.capabilities).toEqual(["Größe & scale"]);
  });

  test("the same label twice is a conflict, for each agent by itself", async () => {
    await Promise.all([agent("one"), agent("two")]);
    const body = { capability: "testing" };
    expect((await door.post("/api/agents/one/capabilities", body)).status).toBe(201);
    expect(await door.post("/api/agents/one/capabilities", body)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("testing") },
    });
    const other = await door.post("/api/agents/two/capabilities", body);
    expect(other.status).toBe(201);
    // A capability of another agent is not changed through this one.
    expect((await door.del(`/api/agents/one/capabilities/${other.body.id}`)).status).toBe(404);
    expect((await door.get("/api/agents/two/capabilities")).total).toBe(1);
  });

  test.each([
    ["GET", "/api/agents/nobody/capabilities", undefined],
    ["POST", "/api/agents/nobody/capabilities", { capability: "x" }],
    ["DELETE", "/api/agents/nobody/capabilities/1", undefined],
  ])("%s %s of an unknown agent is 404", async (method, path, body) => {
    expect(await door.send(method, path, body)).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining("nobody") },
    });
  });

  test.each([
    ["POST", "/api/agents/one/capabilities", {}],
    ["POST", "/api/agents/one/capabilities", { capability: "  " }],
    ["POST", "/api/agents/one/capabilities", { capability: 7 }],
    ["POST", "/api/agents/one/capabilities", { capability: "x".repeat(101) }],
    ["DELETE", "/api/agents/one/capabilities/first", undefined],
    ["GET", "/api/agents/One/capabilities", undefined],
  ])("%s %s %j is 400", async (method, path, body) => {
    const answer = await door.send(method, path, body);
    expect([answer.status, Object.keys(answer.body)]).toEqual([400, ["error"]]);
  });

  test("go with their agent", async () => {
    await agent("leaving");
    await door.post("/api/agents/leaving/capabilities", { capability: "testing" });
    await door.del("/api/agents/leaving");
    expect(await door.sql`select 1 from agent_capabilities where agent_id = 'leaving'`).toHaveLength(0);
  });
});

describe("seeds", () => {
  test("capabilities of agents that do not exist are skipped; ten in all, once", async () => {
    expect((await door.post("/api/agents/capabilities/seed")).body).toEqual({ created: 0, skipped: 10 });
    expect((await door.post("/api/agents/seed")).body).toEqual({ created: 5, skipped: 0 });
    expect(await door.post("/api/agents/capabilities/seed")).toMatchObject({ status: 200, body: { created: 10, skipped: 0 } });
    expect((await door.post("/api/agents/capabilities/seed")).body).toEqual({ created: 0, skipped: 10 });
    expect((await door.get("/api/agents/ta_default")).body.capabilities).toHaveLength(5);
  });

  test.each(["seed", "capabilities"])("the segment %s is not an id", async (id) => {
    expect((await agent(id)).status).toBe(400);
  });

  test("a GET of a seed is 405", async () => {
    expect((await door.get("/api/agents/seed")).status).toBe(405);
    expect((await door.get("/api/agents/capabilities/seed")).status).toBe(405);
  });
});
