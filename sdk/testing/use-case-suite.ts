import assert from "node:assert/strict";
import { PluginError } from "../errors.ts";
import type { Plugin } from "../plugin.ts";
import type { Json } from "../source-event.ts";
import type { TrackersAccess, UseCase, UseCaseRequest, UseCaseResult } from "../use-case.ts";
import { fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import { FakeOperations } from "./fake-operations.ts";
import type { TestCase } from "./fixtures.ts";

/** Input of `testUseCase`. */
export interface UseCaseFixtures {
  /** Name of the use case. Default: the id of the plugin. */
  readonly useCase?: string;
  readonly config?: Record<string, unknown>;
  /** The configured source. Default: `alpha`. */
  readonly source?: string;
  /** Input of the setup. Default: none. */
  readonly request?: UseCaseRequest;
  /** A default agent that the setup requires. Default: none. */
  readonly needs_agent?: string;
}

/** A use case under test, with a host in memory. */
interface Harness {
  readonly operations: FakeOperations;
  /** Keys of the created and of the closed issues. */
  readonly issues: string[];
  readonly closed: string[];
  setup(): Promise<UseCaseResult>;
  teardown(): ReturnType<UseCase["teardown"]>;
}
interface SetupOptions {
  readonly without?: readonly string[];
  readonly tracker?: "none" | "refuses";
}

/** The conformance suite for use cases. */
export function testUseCase(plugin: Plugin, fixtures: UseCaseFixtures = {}): TestCase[] {
  const name = fixtures.useCase ?? plugin.id;
  const on = (check: (harness: Harness) => Promise<void>, options: SetupOptions = {}) => ({
    run: async () => check(await harnessOf(plugin, name, fixtures, options)),
  });
  const breaks = (check: Check) => ({ slow: true, run: () => breaksOff(() => harnessOf(plugin, name, fixtures), check) });
  const cases: TestCase[] = [
    { name: "has a complete declaration", run: () => declares(plugin, name, fixtures) },
    { name: "setup returns what it created", ...on(returnsCreated) },
    { name: "a repeated setup returns the existing one", ...on(repeatsSetup) },
    { name: "teardown deletes what setup created, and nothing else", ...on(removes) },
    { name: "teardown can be repeated, and run before a setup", ...on(repeatTeardown) },
    { name: "an interrupted setup can be resumed", ...breaks(resumesSetup) },
    { name: "an interrupted setup can be torn down", ...breaks(tearsDownAll) },
    { name: "works without a tracker", ...on(worksWithoutTracker, { tracker: "none" }) },
  ];
  if (plugin.needs.includes("trackers"))
    cases.push({
      name: "a rejected tracker request is reported, and the setup can be torn down",
      ...on(failsWithReason, { tracker: "refuses" }),
    });
  const agent = fixtures.needs_agent;
  if (agent !== undefined)
    cases.push({ name: "a missing agent is a conflict", ...on((one) => requireConflict(one, agent), { without: [agent] }) });
  return cases.map((one) => ({ ...one, name: `use case ${plugin.id}.${name}: ${one.name}` }));
}

async function harnessOf(plugin: Plugin, name: string, fixtures: UseCaseFixtures, options: SetupOptions = {}): Promise<Harness> {
  const operations = new FakeOperations(options.without);
  const [issues, closed]: [string[], string[]] = [[], []];
  const trackers = trackersOf(
    operations,
    issues,
    closed,
    options.tracker === "none" ? null : (fixtures.source ?? "alpha"),
    options,
  );
  const { useCases } = await setUpPlugin(plugin, {
    config: fixtures.config,
    capabilities: fakeCapabilities({ operations, trackers }),
  });
  const useCase = useCases?.[name];
  assert.ok(useCase, `setup must contribute useCases.${name}`);
  let state: Json = null;
  const call = () => ({
    signal: AbortSignal.timeout(10_000),
    state,
    save: async (next: Json) => {
      assert.deepEqual(JSON.parse(JSON.stringify(next)), next, "the saved state must be JSON");
      state = next;
    },
  });
  return {
    operations,
    issues,
    closed,
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
  closedIssues: string[],
  source: string | null,
  { tracker }: SetupOptions,
): TrackersAccess {
  return {
    configured: () => (source === null ? [] : [source]),
    projectId: async (_, project) => project,
    createIssue: async (from, { project }) => {
      if (from !== source) return null;
      if (tracker === "refuses") throw new PluginError("not_found", "The project does not exist.");
      operations.change();
      const key = `${project}#${issues.length + 1}`;
      issues.push(key);
      return { key, url: `https://tracker.example/${key}` };
    },
    closeIssue: async (_, { key }) => {
      closedIssues.push(key);
      return true;
    },
  };
}

async function declares(plugin: Plugin, name: string, { config }: UseCaseFixtures): Promise<void> {
  const { useCases } = await setUpPlugin(plugin, { config });
  assert.ok((useCases?.[name]?.about.trim().length ?? 0) > 10, "about must say what the use case demonstrates");
  assert.ok(plugin.needs.includes("operations"), 'needs must name "operations": a use case uses it for every change');
}

async function returnsCreated({ setup, operations, issues }: Harness): Promise<void> {
  const result = await setup();
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result, "the result must be JSON");
  assert.ok(result.status.length > 0, "status must not be empty");
  assert.ok(
    operations.rows.projects?.some(({ id }) => id === result.project.id),
    "project.id must be the id of an existing project",
  );
  for (const id of result.agents_verified)
    assert.ok(
      operations.rows.agents?.some((agent) => agent.id === id),
      `agents_verified: there is no agent "${id}"`,
    );
  assert.ok(result.next_steps.length > 0, "next_steps must not be empty");
  assert.equal(result.tracker_issue?.key, issues[0], "tracker_issue must be the created issue");
}

async function repeatsSetup({ setup, operations, issues }: Harness): Promise<void> {
  const result = await setup();
  const before = operations.rows;
  assert.deepEqual(await setup(), result, "a repeated setup must return the same");
  assert.deepEqual(operations.rows, before, "a repeated setup must create nothing");
  assert.ok(issues.length <= 1, "a repeated setup must not create a second issue");
}

async function removes({ setup, teardown, operations, issues, closed }: Harness): Promise<void> {
  const before = operations.rows;
  await setup();
  assert.equal((await teardown()).project_deleted, true, "project_deleted must be true");
  assert.deepEqual(operations.rows, before, "the teardown must delete what the setup created, and keep agents and tasks");
  assert.deepEqual(closed, issues, "the teardown must close the issue");
}

async function repeatTeardown({ setup, teardown, operations }: Harness): Promise<void> {
  const before = operations.rows;
  const secondTeardown = await teardown();
  assert.deepEqual(
    [secondTeardown.project_deleted, secondTeardown.issue_closed],
    [false, false],
    "a teardown before a setup must find nothing",
  );
  await setup();
  await teardown();
  assert.equal((await teardown()).project_deleted, false, "the second teardown must find nothing");
  assert.deepEqual(operations.rows, before);
}

type Check = (harness: Harness, uninterrupted: Harness) => Promise<void>;

/** Lets each change of a setup fail, once before and once after it is made, until a setup succeeds. */
async function breaksOff(fresh: () => Promise<Harness>, check: Check): Promise<void> {
  for (const afterChange of [false, true]) await breaksOffAt(fresh, check, afterChange);
}

async function breaksOffAt(fresh: () => Promise<Harness>, check: Check, afterChange: boolean): Promise<void> {
  const uninterrupted = await fresh();
  await uninterrupted.setup();
  for (let at = 1; at < 1000; at++) {
    const interrupted = await fresh();
    interrupted.operations.failAt = at;
    interrupted.operations.failsAfterChange = afterChange;
    const hasFailed = await interrupted.setup().then(
      () => false,
      () => true,
    );
    interrupted.operations.failAt = 0;
    if (!hasFailed) return assert.ok(at > 1, "the setup must change something and must report a failed change");
    await check(interrupted, uninterrupted);
  }
}

async function resumesSetup({ setup, operations, issues }: Harness, uninterrupted: Harness): Promise<void> {
  await setup();
  const rowsOf = ({ rows }: FakeOperations) =>
    Object.entries(rows).map(([noun, all]) => `${noun}: ${all.map(({ id: _, ...row }) => JSON.stringify(row)).join()}`);
  assert.deepEqual(
    rowsOf(operations).sort(),
    rowsOf(uninterrupted.operations).sort(),
    "a resumed setup must end like an uninterrupted one",
  );
  assert.equal(issues.length, uninterrupted.issues.length, "there must be one issue");
}

async function tearsDownAll({ teardown, operations }: Harness): Promise<void> {
  await teardown();
  assert.deepEqual(operations.rows, new FakeOperations().rows, "the teardown must delete what an interrupted setup created");
}

async function worksWithoutTracker({ setup, teardown, operations }: Harness): Promise<void> {
  assert.equal((await setup()).tracker_issue, null, "tracker_issue must be null without a tracker");
  await teardown();
  assert.deepEqual(operations.rows, new FakeOperations().rows);
}

async function failsWithReason(harness: Harness): Promise<void> {
  const error = await harness.setup().then(
    () => null,
    (thrown: unknown) => thrown as Partial<PluginError>,
  );
  assert.ok(error, "the setup must fail if the tracker rejects the request");
  assert.ok(error.code && error.message, "the setup must throw a PluginError that says what was rejected");
  await tearsDownAll(harness);
}

async function requireConflict({ setup, operations }: Harness, needs_agent: string): Promise<void> {
  const before = operations.rows;
  const error = await setup().then(
    () => null,
    (thrown: unknown) => thrown as Partial<PluginError>,
  );
  assert.equal(error?.code, "conflict", `the setup must fail with "conflict" if the agent ${needs_agent} is missing`);
  assert.match(error?.message ?? "", new RegExp(needs_agent), "the error must name the agent");
  assert.deepEqual(operations.rows, before, "nothing may be created");
}
