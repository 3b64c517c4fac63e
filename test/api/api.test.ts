import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";

const missing = "00000000-0000-7000-8000-000000000000";
let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.close());

const totalOf = async (path: string) => Number((await service.get(path)).headers.get("x-total-count"));

describe("agents", () => {
  const minimal = { id: "helper", name: "Helper", role_id: "dev", prompt: "You help." };

  test("201 with the whole object, 200, 204, and 404 once it is gone", async () => {
    const created = await service.post<Record<string, unknown>>("/api/agents", {
      ...minimal,
      auth_secret: "a long secret",
      unknown: 1,
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      ...minimal,
      responsibilities: [],
      constraints: [],
      capabilities: [],
      trust_level: "default",
      auth_enabled: false,
    });
    expect(created.body).not.toHaveProperty("unknown");
    expect(JSON.stringify(created.body)).not.toContain("secret");
    expect(created.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
    expect(await service.get("/api/agents/helper")).toMatchObject({ status: 200, body: created.body });

    const change = {
      name: "Renamed",
      allowed_tools: ["alpha.*"],
      temperature: 0.5,
      auth_enabled: true,
      id: "ignored",
      created_at: "x",
    };
    const updated = await service.put<Record<string, unknown>>("/api/agents/helper", change);
    expect(updated).toMatchObject({
      status: 200,
      body: {
        id: "helper",
        name: "Renamed",
        prompt: minimal.prompt,
        allowed_tools: ["alpha.*"],
        temperature: 0.5,
        auth_enabled: true,
      },
    });
    expect(updated.body.created_at).toBe(created.body.created_at);

    expect(await service.del("/api/agents/helper")).toMatchObject({ status: 204, body: null });
    expectRefused(await service.del("/api/agents/helper"), 404, /helper/);
    expectRefused(await service.get("/api/agents/helper"), 404, /helper/);
    expectRefused(await service.put("/api/agents/helper", { name: "x" }), 404, /helper/);
  });

  test("409 for an id that is taken, also when many ask at once", async () => {
    const agent = { ...minimal, id: "race" };
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.post("/api/agents", agent)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expectRefused(answers.find(({ status }) => status === 409) as (typeof answers)[number], 409, /race/);
    await service.del("/api/agents/race");
  });

  test.each<[string, unknown, RegExp]>([
    ["no id", { ...minimal, id: undefined }, /id/],
    ["a bad id", { ...minimal, id: "Not OK" }, /id.*lower-case letter/],
    ["an unknown role", { ...minimal, role_id: "ceo" }, /role_id/],
    ["an empty prompt", { ...minimal, prompt: " " }, /prompt/],
    ["a prompt that is a number", { ...minimal, prompt: 5 }, /prompt/],
    ["a NUL character", { ...minimal, name: "a\u0000b" }, /name/],
    ["a temperature beyond 2", { ...minimal, temperature: 3 }, /temperature/],
    ["a tool without a provider", { ...minimal, allowed_tools: ["add_comment"] }, /allowed_tools/],
    ["an empty secret", { ...minimal, auth_secret: "" }, /auth_secret/],
  ])("400 for %s, naming it", async (_, body, saying) => {
    expectRefused(await service.post("/api/agents", body), 400, saying);
    expect((await service.get("/api/agents/helper")).status).toBe(404);
  });

  test("400 for a change without a known member, or without a body", async () => {
    await service.post("/api/agents/seed");
    expectRefused(await service.put("/api/agents/pm_default", { nickname: "x" }), 400, /known member/);
    expectRefused(await service.put("/api/agents/pm_default", {}), 400);
    expectRefused(
      await service.put("/api/agents/pm_default", "", { headers: { "content-type": "application/json" } }),
      400,
      /empty/,
    );
  });

  test("a lone surrogate becomes the replacement character, never a 500", async () => {
    const answer = await service.post<{ name: string }>("/api/agents", { ...minimal, id: "lone", name: "a\ud800b" });
    expect(answer.status).toBeOneOf([201, 400]);
    if (answer.status === 201) expect(answer.body.name).toBe("a\ufffdb");
    await service.del("/api/agents/lone");
  });
});

test.each([
  ["GET", "/api/agents?limit=abc", /^limit: must be a whole number; it is "abc"$/],
  ["GET", "/api/projects/abc", /^id: must be a whole number; it is "abc"$/],
  ["GET", "/api/projects/9223372036854775808", /^id: must be at most 2147483647$/],
  ["GET", "/api/webhook-events?from=2026-01-31", /^from: must be a time in ISO 8601 with a zone/],
  ["POST", "/api/memory/search", /^limit: must be a whole number$/, { query: "x", limit: 1.5 }],
  ["POST", "/api/memory/search", /^limit: must be a number; it is null$/, { query: "x", limit: null }],
  [
    "POST",
    "/api/tools",
    /^parameters\.: the name of this member must /,
    { name: "a", provider: "b", description: "", parameters: { "": {} } },
  ],
] as const)("400 of %s %s says what would be right", async (method, path, says, body?: object) => {
  expectRefused(await (method === "GET" ? service.get(path) : service.post(path, body)), 400, says);
});

test("seeds are idempotent, also when they run at once, and say what they did", async () => {
  for (const [path, count] of [
    ["/api/tasks/triggers", 5],
    ["/api/tasks/sources", 13],
    ["/api/tasks", 9],
    ["/api/agents", 5],
  ] as const) {
    for (const { body: one } of path === "/api/agents" ? [] : [await service.get<{ id: string }[]>(path)])
      expect(one).toEqual([]);
    const both = await Promise.all([1, 2].map(() => service.post<{ created: number; skipped: number }>(`${path}/seed`)));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of both) expect(body.created + body.skipped).toBe(count);
    expect(await service.post(`${path}/seed`)).toMatchObject({ status: 200, body: { created: 0, skipped: count } });
    expect(await totalOf(path)).toBe(count);
  }
});

describe("tasks", () => {
  const task = { id: "review", name: "Review", description: "Review it.", actor_id: "nobody_yet" };

  test("201, 409, 200, 204, 404; an agent that does not exist is allowed", async () => {
    expect(await service.post("/api/tasks", task)).toMatchObject({
      status: 201,
      body: { ...task, actor_fallback: null, required_capabilities: [] },
    });
    expectRefused(await service.post("/api/tasks", task), 409, /review/);
    expect(await service.put("/api/tasks/review", { actor_fallback: "F", required_capabilities: ["security"] })).toMatchObject({
      status: 200,
      body: { ...task, actor_fallback: "F", required_capabilities: ["security"] },
    });
    expect((await service.get("/api/tasks/review")).status).toBe(200);
    expect((await service.del("/api/tasks/review")).status).toBe(204);
    expectRefused(await service.get("/api/tasks/review"), 404, /review/);
    expectRefused(await service.del("/api/tasks/review"), 404);
    expectRefused(await service.put("/api/tasks/review", { name: "x" }), 404);
  });

  test("reserved words below /api/tasks are not tasks", async () => {
    for (const id of ["triggers", "sources", "seed", "resolve"])
      expectRefused(await service.post("/api/tasks", { ...task, id }), 400, /reserved/);
    expect((await service.get<unknown[]>("/api/tasks/triggers")).body).toBeInstanceOf(Array);
    expectRefused(await service.get("/api/tasks/seed"), 405);
  });

  test("resolve answers what an event fires, null if it is not mapped, 400 without its members", async () => {
    expect(await service.get("/api/tasks/resolve?source=alpha&event=issues&action=opened")).toMatchObject({
      status: 200,
      body: {
        source: "alpha",
        event: "issues",
        action: "opened",
        canonical_trigger: "issue.created",
        tasks: [{ id: "triage_initial_intent" }, { id: "tech_discovery_review" }],
      },
    });
    expect((await service.get("/api/tasks/resolve?source=gamma&event=comment_created")).body).toMatchObject({
      action: null,
      canonical_trigger: "issue.commented",
      tasks: [],
    });
    expect(await service.get("/api/tasks/resolve?source=alpha&event=star&action=created")).toMatchObject({
      status: 200,
      body: { canonical_trigger: null, tasks: [] },
    });
    expectRefused(await service.get("/api/tasks/resolve?source=alpha"), 400, /event/);
    expectRefused(await service.get("/api/tasks/resolve?event=issues"), 400, /source/);
  });

  test("restart: 404 for an unknown id, 409 if nothing has failed", async () => {
    expectRefused(await service.post("/api/tasks/no_such_task/restart"), 404, /no_such_task/);
    expectRefused(await service.post(`/api/tasks/${missing}/restart`), 404);
    expectRefused(await service.post("/api/tasks/triage_initial_intent/restart"), 409, /failed/);
  });
});

test("a tool that another client deletes at once: its creation is answered with 201 and the whole tool", async () => {
  const tool = { provider: "acme", name: "ask", description: "Ask." };
  const statuses = new Set<number>();
  const create = async () => {
    const { status, body } = await service.post<object>("/api/tools", tool);
    statuses.add(status);
    if (status === 201) expect(body).toMatchObject({ ...tool, qualified_name: "acme.ask", origin: "database", stored: true });
  };
  const remove = () => service.del("/api/tools/acme.ask");
  const repeat = async (call: () => Promise<unknown>) => {
    for (let n = 0; n < 80; n++) await call();
  };
  await Promise.all([create, create, remove, remove, remove].map(repeat));
  await remove();
  expect(statuses).toContain(201);
  expect([...statuses].filter((status) => status !== 201 && status !== 409)).toEqual([]);
});

test("pages: limit, offset and the total of all pages", async () => {
  const whole = await service.get<{ id: string }[]>("/api/tasks");
  expect(whole.headers.get("x-total-count")).toBe("9");
  const ids = whole.body.map(({ id }) => id);
  const pages = await Promise.all(
    [0, 4, 8, 12].map((offset) => service.get<{ id: string }[]>(`/api/tasks?limit=4&offset=${offset}`)),
  );
  expect(pages.flatMap(({ body }) => body.map(({ id }) => id))).toEqual(ids);
  expect(pages.map(({ headers }) => headers.get("x-total-count"))).toEqual(["9", "9", "9", "9"]);
});
