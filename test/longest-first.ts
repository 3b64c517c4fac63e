import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = join(import.meta.dirname, "..");

/** The files that take longest, the longest first: they start and kill services again and again. */
const longest = [
  "examples/demo/main.test.ts",
  "test/crash.test.ts",
  "test/plugin-author.test.ts",
  "test/command-line.test.ts",
  "test/memory.test.ts",
  "test/statuses.test.ts",
  "test/poll-sources.test.ts",
  "test/gateway-crowd.test.ts",
  "test/mcp.test.ts",
  "test/gateway-streams.test.ts",
  "test/plugins.test.ts",
  "test/plugin-webhooks.test.ts",
  "test/plugin-environment.test.ts",
  "test/plugin-examples.test.ts",
  "test/queues.test.ts",
  "test/config.test.ts",
  "test/use-case.test.ts",
  "test/door.test.ts",
  "test/memory-stores.test.ts",
  "test/fuzz.test.ts",
];

/** So that at the end no worker is left alone with a long one. Which comes after them is as vitest has it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = longest.filter((file) => !existsSync(join(root, file)));
    if (gone.length > 0) throw new Error(`test/longest-first.ts names what is not there: ${gone.join(", ")}`);
    const place = ({ moduleId }: TestSpecification) => {
      const known = longest.indexOf(relative(root, moduleId).replaceAll("\\", "/"));
      return known < 0 ? longest.length : known;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}
