import type { Reporter, TestCase, TestModule } from "vitest/node";
import { needs } from "./needs.ts";

/** Prints which tests were skipped and why, then one plain line at the end, `12 passed, 0 failed`, for scripts that read it. */
export class Totals implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string) => tests.filter((test) => test.result().state === state);
    // If a file could not be loaded or its hooks failed, no test of it reports that.
    const outside = modules.flatMap((module) => [
      ...module.errors(),
      ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ]);
    const skipped = [...inState("skipped"), ...inState("pending")];
    let failed = errors.length + outside.length + inState("failed").length;
    for (const line of reasons(skipped)) console.log(line);
    if (skipped.length > 0 && process.env.REQUIRE_SERVICES === "1") {
      for (const { fullName, module } of skipped)
        console.log(`skipped, with REQUIRE_SERVICES=1: ${module.relativeModuleId} > ${fullName}`);
      failed += skipped.length;
      process.exitCode = 1;
    }
    console.log(`\n${inState("passed").length} passed, ${failed} failed`);
  }
}

/** One line for each reason: `skipped 4 tests: no python3 with grpcio (install …)`. */
function reasons(skipped: readonly TestCase[]): string[] {
  const reasonOf = (test: TestCase) => {
    const missing = needs.filter(({ name, found }) => !found && test.tags.includes(name)).map((need) => need.missing);
    const result = test.result();
    const note = result.state === "skipped" ? result.note : undefined;
    return missing.join("; ") || (note ?? "not selected, or what it needs in its file failed");
  };
  return [...Map.groupBy(skipped, reasonOf)].map(
    ([why, tests]) => `skipped ${tests.length} ${tests.length === 1 ? "test" : "tests"}: ${why}`,
  );
}
