import type { TestCase } from "../fixtures.ts";

/** Names of the cases that fail, of those whose name holds `at`. */
export async function failures(cases: readonly TestCase[], at = ""): Promise<string[]> {
  const outcomes = await Promise.all(
    cases
      .filter(({ name }) => name.includes(at))
      .map(({ name, run }) =>
        run().then(
          () => [],
          () => [name],
        ),
      ),
  );
  return outcomes.flat();
}
