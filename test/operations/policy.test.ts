import { afterAll, beforeAll, expect, test } from "vitest";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService({
    seed: true,
    env: { BUDGET_RUN_TOKENS: "9000", LOOP_MAX_HOPS: "4", TRIGGER_ALLOWED_BOTS: "ci,deps" },
  });
});
afterAll(() => service?.close());

const applied = async (query: string) => (await service.get<{ policy: Record<string, unknown> }>(`/api/policy?${query}`)).body;

test("a project and an agent narrow the settings, and a change counts at once", async () => {
  expect(await applied("")).toMatchObject({
    agent_id: null,
    project_id: null,
    policy: { run_tokens: { value: 9000, level: "settings" }, loop_max_hops: { value: 4, level: "settings" } },
  });
  const project = { name: "Shop", source: "alpha", source_project_id: "acme/policy" };
  const made = await service.post<{ id: number }>("/api/projects", {
    ...project,
    policy: { run_tokens: 12_000, trigger_allowed_bots: ["deps"], trigger_min_standing: "member" },
  });
  expect(made).toMatchObject({ status: 201, body: { policy: { run_tokens: 12_000 } } });
  const changed = await service.put("/api/agents/ta_default", { policy: { run_tokens: 500, loop_max_hops: 0 } });
  expect(changed).toMatchObject({ status: 200, body: { policy: { run_tokens: 500, loop_max_hops: 0 } } });
  const both = `agent_id=ta_default&project_id=${made.body.id}`;
  expect(await applied(both)).toMatchObject({
    agent_id: "ta_default",
    project_id: made.body.id,
    policy: {
      run_tokens: { value: 500, level: "agent" },
      loop_max_hops: { value: 4, level: "settings" },
      trigger_allowed_bots: { value: ["deps"], level: "project" },
      trigger_min_standing: { value: "member", level: "project" },
    },
  });
  const listed = await service.get<{ id: string; policy: unknown }[]>("/api/agents");
  expect(listed.body.find(({ id }) => id === "ta_default")?.policy).toEqual({ run_tokens: 500, loop_max_hops: 0 });
  await service.put("/api/agents/ta_default", { policy: {} });
  expect(await applied(both)).toMatchObject({ policy: { run_tokens: { value: 9000, level: "settings" } } });
});

test("an invalid policy is refused, naming the member; so is an unknown agent or project", async () => {
  const project = { name: "Bad", source: "alpha", source_project_id: "acme/bad" };
  const refused = async (policy: unknown, names: RegExp) => {
    expectRefused(await service.post("/api/projects", { ...project, policy }), 400, names);
    expectRefused(await service.put("/api/agents/ta_default", { policy }), 400, names);
  };
  await refused({ run_tokens: -1 }, /policy\.run_tokens/);
  await refused({ trigger_min_standing: "unknown" }, /policy\.trigger_min_standing/);
  await refused({ run_token: 5 }, /run_token\b/);
  await refused({ allow: ["everything"] }, /policy\.allow/);
  await refused([], /policy/);
  expectRefused(await service.get("/api/policy?agent_id=nobody"), 400, /agent_id.*nobody/);
  expectRefused(await service.get("/api/policy?project_id=2000000000"), 400, /project_id.*2000000000/);
});

test("a policy may name tools before they exist, whatever their names are", async () => {
  const names = ["meta.search", "alpha2.search", "alpha.custom_tool", "alpha.add_coment", "alpha.*"];
  const approve = [...names, "comment", "*", "coment", "alpha__add_comment"];
  const agent = { id: "early", name: "Early", role_id: "dev", prompt: "p", allowed_tools: names, policy: { approve } };
  expect(await service.post("/api/agents", agent)).toMatchObject({
    status: 201,
    body: { allowed_tools: names, policy: { approve } },
  });
  expect((await service.put("/api/agents/early", { allowed_tools: names, policy: { approve } })).status).toBe(200);
  const project = { name: "Early", source: "alpha", source_project_id: "acme/early", policy: { approve } };
  const { status, body } = await service.post<{ id: number }>("/api/projects", project);
  expect(status).toBe(201);
  expect((await service.put(`/api/projects/${body.id}`, { policy: { approve: names } })).status).toBe(200);
  const tool = { name: "custom_tool", provider: "alpha", endpoint: "https://pager.example/page" };
  expect((await service.post("/api/tools", tool)).status).toBe(201);
});
