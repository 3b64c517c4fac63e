import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { runtimeUnderTest } from "./test/harness/process.ts";
import { blackBoxFiles } from "./test/runner/black-box-files.ts";
import { LongestFirst } from "./test/runner/longest-first.ts";
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

export default defineConfig({
  test: {
    // vitest itself runs on Node: only what starts the service says anything about Deno.
    include: runtimeUnderTest() === "deno" ? blackBoxFiles() : everywhere,
    // Those are of the plugins that are made from them.
    exclude: ["**/node_modules/**", "runtime/cli/plugin/templates/**"],
    globalSetup: "test/runner/bundle-service.ts",
    // Most files start real services, each a process with a database, and wait for them as much as they compute.
    maxWorkers: Math.max(4, availableParallelism()),
    // As of services (`test/harness/process.ts`): compiling the embedded database well takes longer than its tests.
    execArgv: ["--liftoff-only"],
    // Files of one worker share its modules: no test changes them, and loading them for each file took a third of the processor time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Where a test has two tags, one that is found must not undo the skip of the other.
    tags: needs.map(({ name, missing, found }) => ({ name, description: `skipped: ${missing}`, ...(!found && { skip: true }) })),
    provide: { python, redisServer, chromium, pgbouncer, pgDump, natsServer, rabbitmqServer, helm },
    testTimeout: 120_000,
    hookTimeout: 180_000,
    reporters: ["default", new Totals()],
  },
});
