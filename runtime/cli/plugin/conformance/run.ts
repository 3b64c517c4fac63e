import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { SDK_VERSION } from "@signalbox/sdk";
import { type Conformance, type TestCase, testMemory, testSource, testTools, testUseCase } from "@signalbox/sdk/testing";
import type { Built } from "../build.ts";
import { ownPackages } from "../bundle.ts";
import { PackageFault } from "../fault.ts";
import { bundleCases, closingCases, unusedPermissions } from "./own-cases.ts";
import { Recorded, readRecordings, recordingFetch } from "./recordings.ts";
import { type Sandboxed, type Stage, sandboxed } from "./sandboxed.ts";

export interface CaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly ms: number;
  /** What the plugin did and what would be right. */
  readonly error?: string;
}

/** `dist/conformance.json`: what was run against which bundle. */
export interface Report {
  readonly plugin: { readonly id: string; readonly version: string; readonly sha256: string };
  /** Version of the sdk whose suites were run. */
  readonly suites: string;
  readonly runtime: string;
  readonly passed: number;
  readonly failed: number;
  readonly cases: readonly CaseResult[];
  readonly warnings: readonly string[];
}

export const conformancePath = "test/conformance.ts";

/** Loads `test/conformance.ts`, bundled, so that nothing needs to be installed for it. Throws a `PackageFault`. */
export async function readConformance(folder: string): Promise<Conformance | null> {
  if (!existsSync(join(folder, conformancePath))) return null;
  const { build } = await import("esbuild");
  const work = mkdtempSync(join(tmpdir(), "signalbox-conformance-"));
  const outfile = join(work, "conformance.mjs");
  try {
    await build({
      ...{ absWorkingDir: folder, entryPoints: [conformancePath], outfile, bundle: true, format: "esm", platform: "node" },
      ...{ target: "node22", logLevel: "silent", nodePaths: ownPackages(), sourcemap: "inline" },
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const { conformance } = (await import(pathToFileURL(outfile).href)) as { conformance?: Conformance };
    if (conformance) return conformance;
  } catch (error) {
    throw new PackageFault("NO_CONFORMANCE", `${conformancePath}: ${error instanceof Error ? error.message : error}`, error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new PackageFault("NO_CONFORMANCE", `Expected ${conformancePath} to export \`conformance\`.`);
}

export interface RunOptions {
  readonly folder: string;
  readonly built: Built;
  /** Ask the real other side where no recording answers, and keep what comes. */
  readonly record: boolean;
  readonly onCase: (result: CaseResult) => void;
}

/** Runs the built bundle in the sandbox through the suites of its kinds, and writes the report beside it. */
export async function runConformance({ folder, built, record, onCase }: RunOptions): Promise<Report> {
  const conformance = (await readConformance(folder)) ?? {};
  const http = join(folder, "test/http");
  const recordings = readRecordings(http);
  const recorded = new Recorded(recordings);
  const real = recordingFetch(http, recordings);
  const ask: typeof real = async (input, init) => ((await recorded.answers(input, init)) ? recorded.fetch : real)(input, init);
  const stage: Stage = { recorded: record ? ask : recorded.fetch, tracker: null, used: new Set(), written: [] };
  const process = sandboxed(built, conformance, stage);
  const results: CaseResult[] = [];
  const play = async (cases: readonly TestCase[]) => {
    for (const one of cases) {
      const result = await outcome(one);
      process.rest();
      stage.tracker = null;
      results.push(result);
      onCase(result);
    }
  };
  try {
    await play(bundleCases(built, conformance.config ?? {}));
    await playKinds(built, conformance, process, { stage, recorded }, play);
  } finally {
    await process.close();
  }
  await play(closingCases(built, conformance, stage, recorded.missing));
  const report = reportOf(built, results, unusedPermissions(built, stage));
  writeFileSync(join(dirname(built.bundle), "conformance.json"), `${JSON.stringify(report, null, 2)}\n`);
  return report;
}

type Play = (cases: readonly TestCase[]) => Promise<void>;
interface Around {
  readonly stage: Stage;
  readonly recorded: Recorded;
}

async function playKinds(
  { manifest }: Built,
  conformance: Conformance,
  { plugin }: Sandboxed,
  { stage, recorded }: Around,
  play: Play,
) {
  const { contributes } = manifest;
  const config = conformance.config ?? {};
  const secrets = Object.values(conformance.secrets ?? {});
  const onStage =
    <T extends NonNullable<Stage["tracker"]>>(start: () => Promise<T>) =>
    async () => {
      const tracker = await start();
      stage.tracker = tracker;
      return tracker;
    };
  if (Object.keys(contributes.tools).length > 0) {
    const given = conformance.tools ?? { tools: {} };
    const calls = manifest.needs.includes("fetch");
    const tracker = given.tracker ? onStage(given.tracker) : calls ? onStage(async () => recorded) : undefined;
    await play(testTools(plugin, { ...given, config, secrets, ...(tracker && { tracker }) }));
  }
  for (const source of Object.keys(contributes.sources)) {
    const given = conformance.sources?.[source];
    if (given) await play(testSource(plugin, { ...given, source, config, tracker: onStage(given.tracker) }));
    else await play([absent("sources", source)]);
  }
  for (const store of Object.keys(contributes.memories)) {
    const given = conformance.memories?.[store];
    if (!given) await play([absent("memories", store)]);
    else {
      const stranger = await given.start?.();
      try {
        await play(testMemory(plugin, { ...given, store, config: { ...config, ...stranger?.config } }));
      } finally {
        await stranger?.close();
      }
    }
  }
  for (const useCase of Object.keys(contributes.useCases)) {
    const given = conformance.useCases?.[useCase];
    if (given) await play(testUseCase(plugin, { ...given, useCase, config }));
    else await play([absent("useCases", useCase)]);
  }
}

const absent = (kind: string, name: string): TestCase => ({
  name: `${kind} ${name}: has its fixtures`,
  run: () => Promise.reject(new Error(`conformance.${kind}.${name} is missing in ${conformancePath}`)),
});

async function outcome({ name, run }: TestCase): Promise<CaseResult> {
  const began = performance.now();
  const took = () => Math.round(performance.now() - began);
  try {
    await run();
    return { name, ok: true, ms: took() };
  } catch (error) {
    return { name, ok: false, ms: took(), error: error instanceof Error ? error.message : String(error) };
  }
}

function reportOf({ manifest }: Built, cases: readonly CaseResult[], unused: readonly string[]): Report {
  const failed = cases.filter(({ ok }) => !ok).length;
  return {
    plugin: { id: manifest.id, version: manifest.version, sha256: manifest.bundle.sha256 },
    suites: SDK_VERSION,
    runtime: globalThis.process.version,
    passed: cases.length - failed,
    failed,
    cases,
    warnings: unused.map((one) => `the permission ${one} was not used by any case`),
  };
}
