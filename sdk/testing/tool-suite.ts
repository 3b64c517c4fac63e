import assert from "node:assert/strict";
import { z } from "zod";
import type { Capabilities } from "../contract.ts";
import type { Plugin } from "../plugin.ts";
import type { Tool } from "../tool.ts";
import { assertHandlesFault, assertNoSecret, expectPluginError, faultScenarios, withTracker } from "./expect.ts";
import { callContext, fakeCapabilities, setUpPlugin } from "./fake-host.ts";
import { fixedHosts } from "./fixed-hosts.ts";
import type { TestCase, TestTracker, ToolFixtures, ToolSample } from "./fixtures.ts";

// biome-ignore lint/suspicious/noExplicitAny: the suite holds tools of every input and output
type AnyTool = Tool<any, any, any>;
interface ToolHarness {
  readonly tool: AnyTool;
  readonly lines: readonly string[];
  readonly connection: Record<string, unknown>;
  readonly secrets: readonly string[];
  readonly tracker: TestTracker | null;
}

/** The conformance suite for tools. `fixtures.tools` must contain a sample for every tool of the plugin. */
export function testTools(plugin: Plugin, options: ToolFixtures): TestCase[] {
  const hosts = fixedHosts(plugin);
  const fixtures = { ...options, ...(options.tracker && { tracker: hosts.started(options.tracker) }) };
  const all: TestCase = {
    name: `tools of ${plugin.id}: every tool has a sample`,
    run: async () => {
      const names = Object.keys((await setUpPlugin(plugin, { config: fixtures.config })).tools ?? {}).sort();
      assert.deepEqual(Object.keys(fixtures.tools).sort(), names, "fixtures.tools must name exactly the plugin's tools");
    },
  };
  return [
    all,
    ...Object.entries(fixtures.tools).flatMap(([name, sample]) =>
      casesOf((check) => () => openHarness(plugin, name, { ...fixtures, fetch: hosts.fetch }, check), sample, fixtures).map(
        (one) => hosts.within({ ...one, name: `tool ${plugin.id}.${name}: ${one.name}` }),
      ),
    ),
  ];
}

async function openHarness(
  plugin: Plugin,
  name: string,
  fixtures: ToolFixtures & Pick<Capabilities, "fetch">,
  check: (harness: ToolHarness) => Promise<void>,
): Promise<void> {
  const capabilities = fakeCapabilities({ fetch: fixtures.fetch });
  const { tools } = await setUpPlugin(plugin, { config: fixtures.config, capabilities });
  const tool = tools?.[name];
  assert.ok(tool, `setup must contribute tools.${name}`);
  const within = async (tracker: TestTracker | null) => {
    const connection = fixtures.connection?.(tracker?.url ?? "http://127.0.0.1:9") ?? {};
    await check({ tool, lines: capabilities.lines, connection, secrets: fixtures.secrets ?? [], tracker });
  };
  await (fixtures.tracker ? withTracker(fixtures.tracker, within) : within(null));
}

type Case = (check: (harness: ToolHarness) => Promise<void>) => () => Promise<void>;

function casesOf(on: Case, sample: ToolSample, fixtures: ToolFixtures): TestCase[] {
  assert.ok(sample.inputs.length > 0, "a sample must contain at least one input");
  const cases = [
    { name: "has a complete declaration", run: on(async ({ tool }) => declares(tool)) },
    { name: "rejects invalid input", run: on((harness) => refuses(harness, sample)) },
    ...sample.inputs.map((input, index) => ({
      name: `run succeeds with input ${index + 1}`,
      run: on((harness) => runs(harness, input)),
    })),
  ];
  if (!fixtures.tracker || sample.offline) return cases;
  const input = sample.inputs[0] as Record<string, unknown>;
  const faultCases = faultScenarios.map((scenario) => ({
    name: `run reports ${scenario.name}`,
    slow: true,
    run: on(async ({ tool, tracker, connection, secrets, lines }) => {
      const run = (deadline_ms: number) => tool.run(tool.input.parse(input), callContext(connection, { deadline_ms }));
      await assertHandlesFault(scenario, tracker as TestTracker, "run", run, secrets);
      assertNoSecret("log", lines.join("\n"), secrets);
    }),
  }));
  return [
    ...cases,
    ...faultCases,
    { name: "run can be repeated with the same key", run: on((harness) => runsTwice(harness, input)) },
    { name: "does not repeat a write of unknown outcome", run: on((harness) => writesOnce(harness, input)) },
  ];
}

function declares(tool: AnyTool): void {
  assert.ok(tool.about.trim().length > 10, "about must tell the model when to call the tool, in more than ten characters");
  assert.ok(tool.effect === "read" || tool.effect === "write", "effect must be read or write");
  if (tool.effect === "write") assert.ok(tool.idempotent || tool.find, "a write must be idempotent or have find");
  const schema = z.toJSONSchema(tool.input, { io: "input" });
  assert.equal(schema.type, "object", "input must be an object, because models use named parameters");
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    assert.ok((member as { description?: string }).description, `parameter "${name}" must have a description for the model`);
  }
  z.toJSONSchema(tool.output, { io: "input" });
}

async function refuses({ tool, connection }: ToolHarness, sample: ToolSample): Promise<void> {
  for (const wrong of [null, "text", 42, []])
    assert.ok(!tool.input.safeParse(wrong).success, `input must reject ${JSON.stringify(wrong)}`);
  for (const wrong of sample.refused ?? []) {
    const parsed = tool.input.safeParse(wrong);
    if (!parsed.success) continue;
    const error = await expectPluginError(`run of ${JSON.stringify(wrong)}`, () =>
      tool.run(parsed.data, callContext(connection)),
    );
    assert.equal(error.code, "invalid_input", `run of ${JSON.stringify(wrong)}: ${error.message}`);
    assert.equal(error.retryable, false, "invalid input must not be retryable");
  }
}

async function runs({ tool, connection, tracker }: ToolHarness, input: Record<string, unknown>): Promise<void> {
  const call = callContext(connection);
  const parsed = tool.input.parse(input);
  if (tool.find) assert.equal(await tool.find(parsed, call), null, "find must return null before the run");
  const before = tracker?.writes() ?? 0;
  const output = tool.output.parse(await tool.run(parsed, call));
  assert.deepEqual(JSON.parse(JSON.stringify(output)), output, "output must be JSON");
  const wrote = (tracker?.writes() ?? 0) - before;
  if (tool.effect === "read") assert.equal(wrote, 0, "a tool of effect read must not write");
  if (tool.find) {
    assert.deepEqual(tool.output.parse(await tool.find(parsed, call)), output, "find must return what run returned");
    assert.equal(await tool.find(parsed, callContext(connection)), null, "find with another key must return null");
  }
  if (tool.effect === "read" || tool.idempotent) {
    assert.deepEqual(tool.output.parse(await tool.run(parsed, call)), output, "a repeated call must return the same");
  }
}

async function runsTwice({ tool, connection, tracker }: ToolHarness, input: Record<string, unknown>): Promise<void> {
  if (tool.effect !== "write" || !tracker) return;
  const call = callContext(connection);
  const before = tracker.writes();
  for (const _ of [1, 2]) tool.output.parse(await tool.run(tool.input.parse(input), call));
  assert.ok(tracker.writes() - before <= 2, "each run must write at most once");
  if (tool.find) assert.ok(await tool.find(tool.input.parse(input), call), "find must return a result that was written twice");
}

async function writesOnce({ tool, connection, tracker }: ToolHarness, input: Record<string, unknown>): Promise<void> {
  if (tool.effect !== "write" || !tracker) return;
  const before = tracker.writes();
  tracker.fault({ kind: "drop", after: true, writes: true });
  const call = callContext(connection, { deadline_ms: 5000 });
  const error = await expectPluginError("run", () => tool.run(tool.input.parse(input), call));
  assert.equal(error.retryable, true, `the error of a lost response must be retryable; it is ${error.code}: ${error.message}`);
  tracker.heal();
  assert.equal(tracker.writes() - before, 1, "run must not repeat a write");
  if (tool.find) assert.ok(await tool.find(tool.input.parse(input), call), "find must return the write whose response was lost");
  else tool.output.parse(await tool.run(tool.input.parse(input), call));
}
