import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { runtimeUnderTest } from "./test/harness/process.ts";
import { blackBoxFiles } from "./test/runner/black-box-files.ts";
import { LongestFirst } from "./test/runner/longest-first.ts";
import { atOnce } from "./test/runner/machine-speed.ts";
import {
  chromium,
  helm,
  natsServer,
  needs,
  pgbouncer,
  pgDump,
  python,
  rabbitmqServer,
  redisServer,
  requireAll,
} from "./test/runner/needs.ts";
import { Totals } from "./test/runner/totals-reporter.ts";

const everywhere = ["runtime", "sdk", "schema", "plugins", "examples", "test"].map((folder) => `${folder}/**/*.test.ts`);

requireAll();

const { files, tests } = atOnce(availableParallelism());

export default defineConfig({
  test: {
    // vitest itself runs on Node: only what starts the service says anything about Deno.
    include: runtimeUnderTest() === "deno" ? blackBoxFiles() : everywhere,
    // Those are of the plugins that are made from them.
    exclude: ["**/node_modules/**", "runtime/cli/plugin/templates/**"],
    globalSetup: ["test/runner/bundle-service.ts", "test/runner/compiled-code.ts"],
    // Most files start real services, each a process with a database, and more than half of their time is waiting.
    maxWorkers: files,
    // Of one file: with more, deadlines of services pass on a slow machine.
    maxConcurrency: tests,
    // The same flag as for services (`test/harness/process.ts`): optimising the embedded database takes longer than its tests.
    execArgv: ["--liftoff-only"],
    // Files of one worker share their modules, because no test changes them, and loading them for each file took a third of the
    // processor time.
    isolate: false,
    // Node runs the sources as the service does, without transforming each of them for vitest first.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    // If a test has two tags and the software of only one exists, the test must still be skipped.
    tags: needs.map(({ name, missing, found }) => ({ name, description: `skipped: ${missing}`, ...(!found && { skip: true }) })),
    provide: { python, redisServer, chromium, pgbouncer, pgDump, natsServer, rabbitmqServer, helm },
    testTimeout: 120_000,
    // Detects a hang and does not measure speed. Without it, a machine that pauses for a second would fail a test.
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 180_000,
    reporters: ["default", new Totals()],
  },
});
