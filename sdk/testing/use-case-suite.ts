import assert from "node:assert/strict";
import type { Json } from "../contract.ts";
import { PluginError } from "../errors.ts";
import type { Plugin } from "../plugin.ts";
import type { TrackersAccess, UseCase, UseCaseRequest, UseCaseResult } from "../use-case.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import { FakeOperations } from "./fake-operations.ts";
import type { TestCase } from "./fixtures.ts";

export interface UseCaseFixtures {
  /** Name of the use case; absent: the plugin's id. */
  readonly useCase?: string;
  readonly config?: Record<string, unknown>;
  /** The source that is configured; absent: `alpha`. */
  readonly source?: string;
  /** What the setup is asked for; absent: nothing. */
  readonly request?: UseCaseRequest;
  /** An agent of the default seeds that the setup needs; absent: it needs none. */
  readonly needs_agent?: string;
}

/** A host with what a use case may touch, all in memory. */
interface Bench {
  readonly operations: FakeOperations;
  /** Keys of the issues made, and of those closed. */
  readonly issues: string[];
  readonly closed: string[];
  setup(): Promise<UseCaseResult>;
  teardown(): ReturnType<UseCase["teardown"]>;
}
interface Surroundings {
  readonly without?: readonly string[];
  readonly tracker?: "none" | "refuses";
}

/** What every use case must do, whatever it demonstrates. */
export function testUseCase(plugin: Plugin, fixtures: UseCaseFixtures = {}): TestCase[] {
  const name = fixtures.useCase ?? plugin.id;
  const on = (check: (bench: Bench) => Promise<void>, around: Surroundings = {}) => ({
    run: async () => check(await bench(plugin, name, fixtures, around)),
  });
  const breaks = (check: Check) => ({ slow: true, run: () => breaksOff(() => bench(plugin, name, fixtures), check) });
  const cases: TestCase[] = [
    { name: "declares itself", run: () => declares(plugin, name, fixtures) },
    { name: "the setup says what it made", ...on(says) },
    { name: "the setup again answers what stands", ...on(again) },
    { name: "the teardown removes what was made, and nothing else", ...on(removes) },
    { name: "the teardown twice, and before a setup", ...on(tornTwice) },
    { name: "a setup that breaks off anywhere is taken up", ...breaks(takenUp) },
    { name: "a setup that breaks off anywhere is removed", ...breaks(cleared) },
    { name: "stands without a tracker", ...on(untracked, { tracker: "none" }) },
  ];
  if (plugin.needs.includes("trackers"))
    cases.push({ name: "a tracker that refuses is told, and cleared away", ...on(refused, { tracker: "refuses" }) });
  const agent = fixtures.needs_agent;
  if (agent !== undefined)
    cases.push({ name: "a missing agent is a conflict", ...on((one) => missing(one, agent), { without: [agent] }) });
  return cases.map((one) => ({ ...one, name: `use case ${plugin.id}.${name}: ${one.name}` }));
}

async function bench(plugin: Plugin, name: string, fixtures: UseCaseFixtures, around: Surroundings = {}): Promise<Bench> {
  const operations = new FakeOperations(around.without);
  const [issues, closed]: [string[], string[]] = [[], []];
  const trackers = trackersOf(
    operations,
    issues,
    closed,
    around.tracker === "none" ? null : (fixtures.source ?? "alpha"),
    around,
  );
  const { useCases } = await setUpPlugin(plugin, {
    config: fixtures.config,
    capabilities: fakeCapabilities({ operations, trackers }),
  });
  const useCase = useCases?.[name];
  assert.ok(useCase, `setup must contribute useCases.${name}`);
  let state: Json = null;
  const call = () => ({
    ...{ signal: AbortSignal.timeout(10_000), state },
    save: async (next: Json) => {
      assert.deepEqual(JSON.parse(JSON.stringify(next)), next, "what is saved must be JSON");
      state = next;
    },
  });
  return {
    ...{ operations, issues, closed },
    setup: () => useCase.setup(fixtures.request ?? {}, call()),
    teardown: async () => {
      const done = await useCase.teardown(call());
      state = null;
      return done;
    },
  };
}

function trackersOf(
  operations: FakeOperations,
  issues: string[],
  closed: string[],
  source: string | null,
  { tracker }: Surroundings,
): TrackersAccess {
  return {
    configured: () => (source === null ? [] : [source]),
    projectId: async (_, project) => project,
    createIssue: async (from, { project }) => {
      if (from !== source) return null;
      if (tracker === "refuses") throw new PluginError("not_found", "There is no such project.");
      operations.change();
      const key = `${project}#${issues.length + 1}`;
      issues.push(key);
      return { key, url: `https://tracker.example/${key}` };
    },
    closeIssue: async (_, { key }) => {
      closed.push(key);
      return true;
    },
  };
}

async function declares(plugin: Plugin, name: string, { config }: UseCaseFixtures): Promise<void> {
  const { useCases } = await setUpPlugin(plugin, { config });
  assert.ok((useCases?.[name]?.about.trim().length ?? 0) > 10, "about must say what is demonstrated");
  assert.ok(plugin.needs.includes("operations"), 'needs must name "operations": a use case works through it');
}

async function says({ setup, operations, issues }: Bench): Promise<void> {
  const made = await setup();
  assert.deepEqual(JSON.parse(JSON.stringify(made)), made, "the answer must be JSON");
  assert.ok(made.status.length > 0, "status must say how it stands");
  assert.ok(
    operations.rows.projects?.some(({ id }) => id === made.project.id),
    "project.id must be that of a project that exists",
  );
  for (const id of made.agents_verified)
    assert.ok(
      operations.rows.agents?.some((agent) => agent.id === id),
      `agents_verified: there is no agent "${id}"`,
    );
  assert.ok(made.next_steps.length > 0, "next_steps must say how to go on");
  assert.equal(made.tracker_issue?.key, issues[0], "tracker_issue must be the issue that was made");
}

async function again({ setup, operations, issues }: Bench): Promise<void> {
  const made = await setup();
  const before = operations.rows;
  assert.deepEqual(await setup(), made, "the setup again must answer the same");
  assert.deepEqual(operations.rows, before, "the setup again must make nothing");
  assert.ok(issues.length <= 1, "the setup again must make no second issue");
}

async function removes({ setup, teardown, operations, issues, closed }: Bench): Promise<void> {
  const before = operations.rows;
  await setup();
  assert.equal((await teardown()).project_deleted, true, "project_deleted must be true");
  assert.deepEqual(operations.rows, before, "the teardown must remove what the setup made, and leave agents and tasks alone");
  assert.deepEqual(closed, issues, "the teardown must close the issue");
}

async function tornTwice({ setup, teardown, operations }: Bench): Promise<void> {
  const before = operations.rows;
  const nothing = await teardown();
  assert.deepEqual([nothing.project_deleted, nothing.issue_closed], [false, false], "there was nothing to remove");
  await setup();
  await teardown();
  assert.equal((await teardown()).project_deleted, false, "the second teardown must find nothing");
  assert.deepEqual(operations.rows, before);
}

type Check = (bench: Bench, whole: Bench) => Promise<void>;

/** Lets one change after the other fail, before it is made and after, until a setup goes through. */
async function breaksOff(fresh: () => Promise<Bench>, check: Check): Promise<void> {
  for (const made of [false, true]) await breaksOffAt(fresh, check, made);
}

async function breaksOffAt(fresh: () => Promise<Bench>, check: Check, made: boolean): Promise<void> {
  const whole = await fresh();
  await whole.setup();
  for (let at = 1; at < 1000; at++) {
    const broken = await fresh();
    broken.operations.failAt = at;
    broken.operations.made = made;
    const failed = await broken.setup().then(
      () => false,
      () => true,
    );
    broken.operations.failAt = 0;
    if (!failed) return assert.ok(at > 1, "the setup must change something, and must not hide that it could not");
    await check(broken, whole);
  }
}

async function takenUp({ setup, operations, issues }: Bench, whole: Bench): Promise<void> {
  await setup();
  const seen = ({ rows }: FakeOperations) =>
    Object.entries(rows).map(([noun, all]) => `${noun}: ${all.map(({ id: _, ...row }) => JSON.stringify(row)).join()}`);
  assert.deepEqual(seen(operations).sort(), seen(whole.operations).sort(), "what broke off must end as what went through");
  assert.equal(issues.length, whole.issues.length, "there must be one issue");
}

async function cleared({ teardown, operations }: Bench): Promise<void> {
  await teardown();
  assert.deepEqual(operations.rows, new FakeOperations().rows, "the teardown must remove what a broken setup left");
}

async function untracked({ setup, teardown, operations }: Bench): Promise<void> {
  assert.equal((await setup()).tracker_issue, null, "tracker_issue must be null where there is no tracker");
  await teardown();
  assert.deepEqual(operations.rows, new FakeOperations().rows);
}

async function refused(bench: Bench): Promise<void> {
  const error = await bench.setup().then(
    () => null,
    (thrown: unknown) => thrown as Partial<PluginError>,
  );
  assert.ok(error, "the setup must not hide that the tracker refused");
  assert.ok(error.code && error.message, "the setup must throw a PluginError that says what was refused");
  await cleared(bench);
}

async function missing({ setup, operations }: Bench, needs_agent: string): Promise<void> {
  const before = operations.rows;
  const error = await setup().then(
    () => null,
    (thrown: unknown) => thrown as Partial<PluginError>,
  );
  assert.equal(error?.code, "conflict", `the setup must be refused with "conflict" while the agent ${needs_agent} is missing`);
  assert.match(error?.message ?? "", new RegExp(needs_agent), "the refusal must name the agent");
  assert.deepEqual(operations.rows, before, "nothing may be made");
}
