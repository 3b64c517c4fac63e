import { defineConfig } from "vitest/config";
import { blackBoxFiles } from "./test/black-box-files.ts";
import { runtimeUnderTest } from "./test/harness/process.ts";
import { LongestFirst } from "./test/longest-first.ts";
import { Totals } from "./test/totals-reporter.ts";

const everywhere = ["runtime", "sdk", "schema", "plugins", "examples", "test"].map((folder) => `${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    // vitest itself runs on Node: only what starts the service says anything about Deno.
    include: runtimeUnderTest() === "deno" ? blackBoxFiles() : everywhere,
    // Those are of the plugins that are made from them.
    exclude: ["**/node_modules/**", "runtime/cli/plugin/templates/**"],
    // Most files start real services, each a process with a database, and wait for them as much as they compute.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 180_000,
    reporters: ["default", new Totals()],
  },
});
