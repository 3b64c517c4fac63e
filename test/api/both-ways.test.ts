import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Doors, openDoors } from "../harness/both-doors.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";
import { operations } from "./statuses/document.ts";

const apiKey = "a-key-of-the-operator";
type Plain = Record<string, unknown>;

const wiki = { base_url: "http://127.0.0.1:9/wiki", space_keys: ["A"], is_cloud: false, email: "a@example.com", api_token: "t" };

interface Noun {
  /** The input to create it; `n` distinguishes the two directions. */
  readonly input: (n: number) => Plain;
  readonly change?: Plain;
  /** The parameters that identify it. Default: its `id`. */
  readonly address?: (made: Plain) => Plain;
  /** The parameters of its list. */
  readonly within?: Plain;
  /** Ids of its operations, if they are not named create, list and delete. */
  readonly create?: string;
  readonly list?: string;
  readonly remove?: string;
  /** Members that change by themselves. */
  readonly volatile?: readonly string[];
}

/** Everything that can be created over both HTTP and gRPC. */
const nouns: Record<string, Noun> = {
  agents: {
    input: (n) => ({
      id: `agent_${n}`,
      name: "A",
      role_id: "qa",
      prompt: "p",
      temperature: 0,
      responsibilities: ["a", "b"].slice(0, n),
    }),
    change: { name: "Renamed", trust_level: "privileged", allowed_tools: ["alpha.*"], temperature: 1.5 },
  },
  capabilities: {
    input: (n) => ({ id: "dev_default", capability: `label ${n}` }),
    address: ({ id }) => ({ id: "dev_default", capability_id: id }),
    within: { id: "dev_default" },
    create: "agents.add-capability",
    list: "agents.list-capabilities",
    remove: "agents.remove-capability",
  },
  projects: {
    input: (n) => ({ name: `P ${n}`, source: "alpha", source_project_id: `octo/p${n}` }),
    change: { name: "Renamed" },
  },
  tasks: {
    input: (n) => ({ id: `task_${n}`, name: "T", description: "d", actor_id: "qa_default", required_capabilities: ["testing"] }),
    change: { description: "another", actor_fallback: "You help." },
  },
  triggers: {
    input: (n) => ({ canonical_trigger: "pr.merged", task_id: n === 1 ? "code_quality_audit" : "quality_verification" }),
  },
  sources: { input: (n) => ({ source: "alpha", event_name: `event_${n}`, action: "done", canonical_trigger: "pr.merged" }) },
  "webhook-mappings": {
    input: (n) => ({ source: `acme_${n}`, path_pattern: `/webhook/acme${n}/:team`, extraction_rules: { event_type: "$.kind" } }),
    change: { auth: { method: "token", header: "x-token", secret: "s3cret" }, canonical_trigger: "pr.merged" },
  },
  integrations: {
    input: (n) => ({ source: "alpha", name: `account ${n}`, credentials: { token: "t0ken", webhook_secret: "s" } }),
    change: { name: "renamed" },
  },
  tools: {
    input: (n) => ({ provider: "acme", name: `look_${n}`, description: "d", endpoint: "http://127.0.0.1:9/look" }),
    change: { description: "another", category: "search" },
    address: ({ qualified_name }) => ({ qualified_name }),
  },
  "mcp-servers": {
    input: (n) => ({ name: `server ${n}`, url: `http://127.0.0.1:9/mcp${n}` }),
    volatile: ["status", "last_error", "tools", "checked_at"],
  },
  memory: {
    input: (n) => ({ key: `a/key ${n}`, content: "what is known", scope: "organizational" }),
    address: ({ key }) => ({ key }),
  },
  "knowledge-sources": {
    input: (n) => ({ name: `wiki ${n}`, type: "wiki", config: wiki, enabled: false }),
    change: { name: "renamed" },
  },
  keys: { input: (n) => ({ name: `key ${n}`, scopes: ["read", "write"] }), remove: "keys.revoke", volatile: ["key"] },
  "poll-sources": {
    input: (n) => ({ source: "alpha", project_id: `octo/p${n}`, interval_minutes: 60, enabled: false }),
    change: { interval_minutes: 90, since: "2026-01-02T03:04:05Z" },
  },
};

let world: World;
let doors: Doors;
let seen: { event: string; execution: string; project: unknown; wiki: unknown; memory: string };

beforeAll(async () => {
  world = await startWorld({
    apiKey,
    env: {
      API_KEYS: apiKey,
      ENCRYPTION_KEY: "00".repeat(32),
      WATCHDOG_ENABLED: "true",
      ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8",
    },
  });
  doors = await openDoors(world.service.url, apiKey);
  const project = await doors.http("projects.create", { name: "App", source: "alpha", source_project_id: "octo/app" });
  const { body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 1 }));
  const done = await waitForExecutions(world.service, { event_id: String(body.event_id), count: 2 });
  // Refused, so that the watchdog has an entry.
  await world.service.webhook(issueOpened({ repo: "octo/app", number: 2 }), { secret: "wrong" });
  const memory = "without/uses";
  await doors.http("memory.create", { key: memory, content: "known", scope: "organizational" });
  const source = await doors.http("knowledge-sources.create", { name: "wiki", type: "wiki", config: wiki });
  seen = {
    event: String(body.event_id),
    execution: String(done[0]?.id),
    project: project.value.id,
    wiki: source.value.id,
    memory,
  };
});
afterAll(() => world?.[Symbol.asyncDispose]());

const has = (id: string) => operations.some((op) => op.id === id);
const without = (value: Plain, names: readonly string[] = []) =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

describe("what one API writes, the other reads", () => {
  test("the table has every noun that both can create", () => {
    const creating = operations.filter(({ id, grpc }) => grpc && /\.(create|add-capability)$/.test(id)).map(({ id }) => id);
    expect(
      Object.entries(nouns)
        .map(([name, noun]) => noun.create ?? `${name}.create`)
        .sort(),
    ).toEqual(creating.sort());
  });

  const directions = [
    ["http", "grpc", 1],
    ["grpc", "http", 2],
  ] as const;
  describe.each(directions)("%s writes, %s reads", (writer, reader, n) => {
    test.each(Object.entries(nouns))("%s", async (name, noun) => {
      const { create = `${name}.create`, list = `${name}.list`, remove = `${name}.delete`, volatile } = noun;
      const { input, change, address = ({ id }: Plain): Plain => ({ id }), within } = noun;
      const write = (id: string, given: Plain) => doors[writer](id, given);
      const read = (id: string, given: Plain) => doors[reader](id, given);
      const made = await write(create, input(n));
      expect(made.code).toBe("ok");
      const where = address(made.value);

      const expectRead = async (written: Plain) => {
        if (has(`${name}.get`))
          expect(without((await read(`${name}.get`, where)).value, volatile)).toEqual(without(written, volatile));
        const { items } = (await read(list, { ...within, limit: 1000 })).value as { items: Plain[] };
        const listed = items.find((item) => Object.entries(address(item)).every(([key, value]) => where[key] === value));
        // A list may omit members that the single response contains.
        expect(without(written, volatile)).toMatchObject(without(listed ?? { missing: true }, volatile));
      };
      await expectRead(made.value);
      if (change) {
        const changed = await write(`${name}.update`, { ...where, ...change });
        expect(changed.code).toBe("ok");
        expect(changed.value).not.toEqual(made.value);
        await expectRead(changed.value);
      }
      expect((await write(remove, where)).code).toBe("ok");
      expect((await read(remove, where)).code).toBe("not_found");
      if (has(`${name}.get`)) expect((await read(`${name}.get`, where)).code).toBe("not_found");
    });
  });
});

test.each<[string, string, () => Promise<Plain>]>([
  ["already_exists", "agents.create", async () => ({ id: "pm_default", name: "A", role_id: "pm", prompt: "p" })],
  ["failed_precondition", "task-executions.release", async () => ({ id: seen.execution })],
  [
    "aborted",
    "mcp-servers.approve",
    async () => {
      const { value } = await doors.http("mcp-servers.create", { name: "changed", url: "http://127.0.0.1:9/changed" });
      return { id: value.id, version: "one that was read before" };
    },
  ],
])("a conflict says over gRPC what to do about it: %s (%s)", async (code, id, given) => {
  const request = await given();
  expect([(await doors.http(id, request)).code, (await doors.grpc(id, request)).code]).toEqual(["409", code]);
});

describe("both APIs read the same", () => {
  const reads: Record<string, () => Plain> = {
    "agents.audit": () => ({ id: "pm_default" }),
    "agents.audit-trail": () => ({ id: "pm_default" }),
    "agents.usage-stats": () => ({ id: "pm_default" }),
    "audit-log.list": () => ({ limit: 1000 }),
    "audit.verify": () => ({}),
    "integrations.test": () => ({ source: "beta" }),
    "knowledge-sources.jobs": () => ({ id: seen.wiki }),
    "memory.search": () => ({ query: "issue", mode: "keyword" }),
    "memory.uses": () => ({ key: seen.memory }),
    "pauses.list": () => ({}),
    "policy.get": () => ({ agent_id: "pm_default" }),
    "projects.workflow-context": () => ({ id: seen.project }),
    "queues.pending": () => ({ queue: "postgres" }),
    "routing.hits": () => ({}),
    "subjects.get": () => ({ source: "alpha", project: "octo/app", issue: "1" }),
    "subjects.search": () => ({ q: "octo/app#1" }),
    "task-executions.get": () => ({ id: seen.execution }),
    "task-executions.list": () => ({ state: "succeeded", event_id: seen.event }),
    "tasks.resolve": () => ({ source: "alpha", event: "issues", action: "opened" }),
    "tool-executions.list": () => ({}),
    "usage.get": () => ({}),
    "watchdog.list": () => ({ level: "warn" }),
    "webhook-events.get": () => ({ id: seen.event }),
    "webhook-events.list": () => ({}),
  };
  test("the table has every operation that both offer and that only reads", () => {
    const known = new Set(Object.entries(nouns).flatMap(([name, { list = `${name}.list` }]) => [`${name}.get`, list]));
    const reading = operations.filter(
      ({ id, grpc, method }) => grpc && (method === "GET" || id === "memory.search") && !known.has(id),
    );
    expect(Object.keys(reads).sort()).toEqual(reading.map(({ id }) => id).sort());
  });
  test.each(Object.entries(reads))("%s", async (id, given) => {
    // What changes in the background, such as the log of the watchdog, may change between two requests.
    const [http, grpc] = await eventually(async () => {
      const [before, over, after] = [await doors.http(id, given()), await doors.grpc(id, given()), await doors.http(id, given())];
      return isDeepStrictEqual(before, after) && ([before, over] as const);
    });
    expect(http.code).toBe("ok");
    expect(grpc).toEqual(http);
  });
});
