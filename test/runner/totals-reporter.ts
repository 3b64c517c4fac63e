import type { Reporter, TestModule } from "vitest/node";

/** Prints one plain line at the end, `12 passed, 0 failed`, for scripts that read it. */
export class Totals implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      // A file that could not be loaded, or whose hooks failed, has no test that says so.
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
      for (const test of module.children.allTests()) count[test.result().state]++;
    }
    const skipped = count.skipped + count.pending;
    console.log(`\n${count.passed} passed, ${count.failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
  }
}
