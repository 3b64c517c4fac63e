import type { Plugin } from "@signalbox/sdk";
import {
  type Conformance,
  type TestCase,
  testKnowledge,
  testMemory,
  testQueues,
  testRoutes,
  testSource,
  testTools,
  testUseCase,
} from "@signalbox/sdk/testing";
import type { PluginBuild } from "../build.ts";
import type { RunState } from "./plugin-under-test.ts";
import { conformancePath } from "./read-conformance.ts";
import type { RecordedTracker } from "./recordings.ts";

interface SuiteContext {
  readonly pluginBuild: PluginBuild;
  readonly conformance: Conformance;
  /** The bundle, in the sandbox. */
  readonly plugin: Plugin;
  readonly state: RunState;
  readonly recordedTracker: RecordedTracker;
}
type RunCases = (cases: readonly TestCase[]) => Promise<void>;
type Suite = (runCases: RunCases) => Promise<void>;

/**
 * The suites of everything that a plugin contributes, each with its fixtures. A contribution without fixtures fails with a
 * message that says so.
 */
export function suitesOf(context: SuiteContext): Suite[] {
  const { pluginBuild, conformance, plugin, state } = context;
  const { contributes } = pluginBuild.manifest;
  const config = conformance.config ?? {};
  const suitesOfKind = <K extends "sources" | "memories" | "knowledge" | "queues" | "useCases">(
    kind: K,
    suite: (name: string, fixtures: NonNullable<Conformance[K]>[string]) => Suite,
  ): Suite[] =>
    Object.keys(contributes[kind]).map((name) => {
      const fixtures = conformance[kind]?.[name];
      return fixtures === undefined
        ? suiteOf([absent(`${kind}.${name}`)])
        : suite(name, fixtures as NonNullable<Conformance[K]>[string]);
    });
  const suiteOf =
    (cases: readonly TestCase[]): Suite =>
    (runCases) =>
      runCases(cases);
  return [
    ...(Object.keys(contributes.tools).length > 0
      ? [suiteOf(conformance.tools ? toolCases(context, conformance.tools) : [absent("tools")])]
      : []),
    ...suitesOfKind("sources", (source, fixtures) =>
      suiteOf(testSource(plugin, { ...fixtures, source, config, tracker: withTracker(state, fixtures.tracker) })),
    ),
    ...suitesOfKind("memories", (store, { start, ...fixtures }) => async (runCases) => {
      const server = await start?.();
      try {
        await runCases(testMemory(plugin, { ...fixtures, store, config: { ...config, ...server?.config } }));
      } finally {
        await server?.close();
      }
    }),
    ...suitesOfKind("knowledge", (knowledge, fixtures) =>
      suiteOf(testKnowledge(plugin, { ...fixtures, knowledge, config, wiki: withTracker(state, fixtures.wiki) })),
    ),
    ...suitesOfKind("queues", (queue, fixtures) => suiteOf(testQueues(plugin, { ...fixtures, queue, config }))),
    ...(Object.keys(contributes.routes).length > 0
      ? [suiteOf(conformance.routes ? routeCases(context) : [absent("routes")])]
      : []),
    ...suitesOfKind("useCases", (useCase, fixtures) => suiteOf(testUseCase(plugin, { ...fixtures, useCase, config }))),
  ];
}

function routeCases({ conformance, plugin }: SuiteContext): TestCase[] {
  const { config = {}, routes = {}, secrets = {} } = conformance;
  return testRoutes(plugin, { routes, config, secrets: Object.values(secrets).filter(Boolean) });
}

/** Without a fake server, the recordings answer. */
function toolCases(
  { pluginBuild, conformance, plugin, state, recordedTracker }: SuiteContext,
  fixtures: NonNullable<Conformance["tools"]>,
): TestCase[] {
  const start = fixtures.tracker ?? (pluginBuild.manifest.needs.includes("fetch") ? async () => recordedTracker : undefined);
  return testTools(plugin, {
    ...fixtures,
    config: conformance.config ?? {},
    secrets: Object.values(conformance.secrets ?? {}).filter(Boolean),
    ...(start && { tracker: withTracker(state, start) }),
  });
}

const withTracker =
  <T extends NonNullable<RunState["tracker"]>>(state: RunState, start: () => Promise<T>) =>
  async (): Promise<T> => {
    const tracker = await start();
    state.tracker = tracker;
    return tracker;
  };

const absent = (member: string): TestCase => ({
  name: `${member.replace(".", " ")}: has fixtures`,
  run: () => Promise.reject(new Error(`conformance.${member} is missing in ${conformancePath}`)),
});
