import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SDK_VERSION } from "@signalbox/sdk";
import type { TestCase } from "@signalbox/sdk/testing";
import { z } from "zod";
import { messageOf } from "../../../platform/error-text.ts";
import type { PluginBuild } from "../build.ts";
import { bundleCases, shutdownCases, untestedSources, unusedPermissions } from "./own-cases.ts";
import { openPluginUnderTest, type RunState } from "./plugin-under-test.ts";
import { readConformance } from "./read-conformance.ts";
import { RecordedTracker, readRecordings, recordingFetch } from "./recordings.ts";
import { type CaseResult, type Report, reportPathOf } from "./report.ts";
import { suitesOf } from "./suites.ts";

interface RunOptions {
  readonly folder: string;
  readonly pluginBuild: PluginBuild;
  /** Send requests without a recording to the real server, and record the responses. */
  readonly record: boolean;
  /** Run only the cases that do not wait; no report is written. */
  readonly quick?: boolean;
  /** Run only the cases whose name contains this text; no report is written. */
  readonly nameFilter?: string | undefined;
  /** Stops the run: no further case is started. */
  readonly signal?: AbortSignal;
  readonly onCase: (result: CaseResult) => void;
}
/** The result of a run; `skippedCases`: number of slow cases that were left out. */
interface Outcome extends Report {
  readonly skippedCases: number;
}

/** Runs the suites of the plugin's kinds on its built bundle, in the sandbox, and writes the report next to the bundle. */
export async function runConformance(options: RunOptions): Promise<Outcome> {
  const { folder, pluginBuild, record, quick = false, nameFilter = "", signal, onCase } = options;
  const conformance = (await readConformance(folder)) ?? {};
  const http = join(folder, "test/http");
  const recordings = readRecordings(http);
  const recordedTracker = new RecordedTracker(recordings);
  const real = recordingFetch(http, recordings);
  const ask: typeof real = async (input, init) =>
    ((await recordedTracker.answers(input, init)) ? recordedTracker.fetch : real)(input, init);
  const state: RunState = { fetch: record ? ask : recordedTracker.fetch, tracker: null, usedHosts: new Set(), stderrLines: [] };
  const process = openPluginUnderTest(pluginBuild, conformance, state);
  const results: CaseResult[] = [];
  let skippedCases = 0;
  const runCases = async (cases: readonly TestCase[]) => {
    for (const one of cases) {
      if (signal?.aborted) return;
      if ((quick && one.slow) || !one.name.includes(nameFilter)) {
        skippedCases += 1;
        continue;
      }
      const result = await outcome(one);
      process.endCase();
      state.tracker = null;
      results.push(result);
      onCase(result);
    }
  };
  try {
    await runCases(bundleCases(pluginBuild, conformance.config ?? {}));
    for (const suite of suitesOf({ pluginBuild, conformance, plugin: process.plugin, state, recordedTracker }))
      await suite(runCases);
  } finally {
    await process.close();
  }
  await runCases(shutdownCases(pluginBuild, conformance, state, recordedTracker.unansweredRequests));
  const isWhole = !quick && nameFilter === "" && !signal?.aborted;
  const unused = unusedPermissions(pluginBuild, state).map((one) => `the permission ${one} was not used by any case`);
  const report = reportOf(pluginBuild, results, isWhole ? [...unused, ...untestedSources(conformance)] : []);
  if (isWhole) writeFileSync(reportPathOf(pluginBuild.bundle), `${JSON.stringify(report, null, 2)}\n`);
  return { ...report, skippedCases };
}

async function outcome({ name, run }: TestCase): Promise<CaseResult> {
  const startedAt = performance.now();
  const took = () => Math.round(performance.now() - startedAt);
  try {
    await run();
    return { name, ok: true, ms: took() };
  } catch (error) {
    return { name, ok: false, ms: took(), error: errorText(error) };
  }
}

const errorText = (error: unknown): string =>
  error instanceof z.ZodError ? z.prettifyError(error) : withoutStack(messageOf(error));

/** Removes lines of this program's stack, which do not help the author of a plugin. Some errors contain them in their message. */
const withoutStack = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !/^\s+at .*(\(|:\d+:\d+)/.test(line))
    .join("\n");

function reportOf({ manifest }: PluginBuild, cases: readonly CaseResult[], warnings: readonly string[]): Report {
  const failed = cases.filter(({ ok }) => !ok).length;
  return {
    plugin: { id: manifest.id, version: manifest.version, sha256: manifest.bundle.sha256 },
    suites: SDK_VERSION,
    runtime: globalThis.process.version,
    passed: cases.length - failed,
    failed,
    cases,
    warnings,
  };
}
