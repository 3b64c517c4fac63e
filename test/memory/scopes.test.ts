import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Gateway, gateway } from "../harness/gateway.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { issueOf, startWorld, taskOf, type World } from "../harness/world.ts";

/** The agents, each with a separate task that an opened issue fires. */
const agents = { ann: "pm_default", bob: "qa_default" } as const;
type Agent = keyof typeof agents;
const projects = ["one", "two"] as const;
type Project = (typeof projects)[number];
const scopes = ["task", "agent", "project", "organizational"] as const;

interface StoredMemory {
  readonly key: string;
  readonly scope: (typeof scopes)[number];
  readonly agent: Agent | null;
  readonly project: Project | null;
}
/** Every scope, with one of the agents or none, and one of the projects or none. */
const all: readonly StoredMemory[] = scopes.flatMap((scope) =>
  ([null, "ann", "bob"] as const).flatMap((agent) =>
    ([null, ...projects] as const).map((project) => ({ key: `${scope}/${agent}/${project}`, scope, agent, project })),
  ),
);
const keysOf = (kept: readonly StoredMemory[]) => kept.map(({ key }) => key).sort();

let world: World;
let door: Gateway;
const ids = {} as Record<Project, number>;
const sessions = {} as Record<Agent, string>;

beforeAll(async () => {
  const env = { RATE_LIMIT_DEFAULT: "100000", MEMORY_SEARCH_LIMIT: "100", EMBEDDING_DIMENSION: "256" };
  world = await startWorld({ tasks: ["ann"], env });
  const { service } = world;
  door = gateway(service.url);
  await service.post("/api/tasks", { id: "bob", name: "bob", description: "Do bob.", actor_id: agents.bob });
  await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "bob" });
  for (const project of projects) {
    const body = { name: project, source: "alpha", source_project_id: `octo/${project}` };
    ids[project] = (await service.post<{ id: number }>("/api/projects", body)).body.id;
  }
  for (const agent of ["ann", "bob"] as const) {
    const { body } = await door.call("RegisterAgent", { agent_id: agents[agent], secret: "" });
    sessions[agent] = String(body.sessionId);
  }
  for (const { key, scope, agent, project } of all) {
    const owner = { agent_id: agent && agents[agent], project_id: project && ids[project] };
    const task = scope === "task" ? { task_id: "00000000-0000-4000-8000-000000000000" } : {};
    const content = `The issue template asks for a login [${key}]`;
    expect(await service.post("/api/memory", { key, content, scope, ...owner, ...task })).toMatchObject({ status: 201 });
  }
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

describe("HTTP: operators see all that the filter matches", () => {
  const filters = [undefined, ...scopes].flatMap((scope) =>
    ([null, "ann", "bob"] as const).flatMap((agent) =>
      ([null, ...projects] as const).map((project) => ({ scope, agent, project })),
    ),
  );
  test.each(filters)("%o", async ({ scope, agent, project }) => {
    const fits = (one: StoredMemory) =>
      (!scope || one.scope === scope) && (!agent || one.agent === agent) && (!project || one.project === project);
    const given = {
      ...(scope && { scope }),
      ...(agent && { agent_id: agents[agent] }),
      ...(project && { project_id: ids[project] }),
    };
    const query = new URLSearchParams(Object.entries(given).map(([name, value]) => [name, String(value)]));
    const listed = await world.service.get<StoredMemory[]>(`/api/memory?limit=1000&${query}`);
    expect(keysOf(listed.body)).toEqual(keysOf(all.filter(fits)));
    for (const mode of ["keyword", "semantic", "hybrid"]) {
      const search = { query: "the issue template", limit: 1000, mode, ...given };
      expect(keysOf((await world.service.post<StoredMemory[]>("/api/memory/search", search)).body)).toEqual(
        keysOf(all.filter(fits)),
      );
    }
  });
});

describe("gRPC: an agent sees its own, those of every project, and the organisation's", () => {
  const seenBy = (agent: Agent) =>
    all.filter(({ scope, agent: owner }) => scope === "project" || scope === "organizational" || owner === agent);
  test.each(["ann", "bob"] as const)("%s", async (agent) => {
    const session_id = sessions[agent];
    const visible = keysOf(seenBy(agent));
    const list = async (filter: object) =>
      keysOf((await door.call("MemoryList", { session_id, limit: 1000, ...filter })).body.memories as StoredMemory[]);
    expect(await list({})).toEqual(visible);
    for (const scope of scopes)
      expect(await list({ scope: `MEMORY_SCOPE_${scope.toUpperCase()}` })).toEqual(
        keysOf(seenBy(agent).filter((one) => one.scope === scope)),
      );
    for (const project of projects)
      expect(await list({ project_id: ids[project] })).toEqual(keysOf(seenBy(agent).filter((one) => one.project === project)));
    for (const mode of ["KEYWORD", "SEMANTIC", "HYBRID"]) {
      const search = { session_id, query: "the issue template", limit: 1000, mode: `MEMORY_SEARCH_MODE_${mode}` };
      expect(keysOf((await door.call("MemorySearch", search)).body.memories as StoredMemory[])).toEqual(visible);
    }
    for (const { key } of all) {
      const expected = visible.includes(key) ? null : "not_found";
      expect([key, (await door.call("MemoryRetrieve", { session_id, key })).code]).toEqual([key, expected]);
      if (expected) expect((await door.call("MemoryDelete", { session_id, key })).code).toBe("not_found");
    }
  });
});

describe("prompts: a task sees its agent's, its project's, and the organisation's", () => {
  const seenIn = (agent: Agent, project: Project | null) =>
    all.filter(
      (one) =>
        one.scope === "organizational" ||
        (one.scope === "agent" && one.agent === agent) ||
        (one.scope === "project" && project !== null && one.project === project),
    );
  test.each([...projects, null])("project %s", async (project) => {
    const repo = `octo/${project ?? "three"}`;
    const { body } = await world.service.webhook(issueOpened({ repo, number: 1 }));
    await waitForExecutions(world.service, { event_id: body.event_id, count: 2 });
    for (const agent of ["ann", "bob"] as const) {
      const asked = world.model.chats().find((request) => issueOf(request) === `${repo}#1` && taskOf(request) === agent);
      const prompt = String(asked?.messages.find(({ role }) => role === "system")?.content);
      const told = all.filter(({ key }) => prompt.includes(`[${key}]`));
      expect({ agent, keys: keysOf(told) }).toEqual({ agent, keys: keysOf(seenIn(agent, project)) });
    }
  });
});
