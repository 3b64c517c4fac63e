import { defineConfig } from "vitest/config";
import { Totals } from "./test/totals-reporter.ts";

export default defineConfig({
  test: {
    include: ["runtime", "sdk", "schema", "plugins", "examples", "test"].map((folder) => `${folder}/**/*.test.ts`),
    // Those are of the plugins that are made from them.
    exclude: ["**/node_modules/**", "runtime/cli/plugin/templates/**"],
    // Most files start real services, each a process with a database, and wait for them as much as they compute.
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    reporters: ["default", new Totals()],
  },
});
