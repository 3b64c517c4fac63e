import assert from "node:assert/strict";
import { inspect } from "node:util";
import { z } from "zod";
import { type PluginErrorCode, type PluginErrorShape, pluginErrorCodes } from "../errors.ts";
import type { TestTracker, TrackerFault } from "./fixtures.ts";

const shape = z.object({
  code: z.enum(pluginErrorCodes),
  message: z.string().min(1),
  retryable: z.boolean(),
  retry_after_ms: z.number().nonnegative().optional(),
});

/** Runs what must fail; answers the error in the shape that the host reads. */
export async function expectPluginError(
  what: string,
  run: () => unknown,
  secrets: readonly string[] = [],
): Promise<PluginErrorShape> {
  let thrown: unknown;
  try {
    const answer = await run();
    assert.fail(`${what} must throw; it answered ${inspect(answer)}`);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    thrown = error;
  }
  const parsed = shape.safeParse({ ...(thrown as object), message: (thrown as Error)?.message });
  assert.ok(parsed.success, `${what} must throw {code, message, retryable}; it threw ${inspect(thrown)}`);
  // Deep, because a cause or a kept request is logged with the error.
  assertNoSecret(what, inspect(thrown, { depth: 8, showHidden: true }), secrets);
  return parsed.data as PluginErrorShape;
}

export function assertNoSecret(what: string, text: string, secrets: readonly string[]): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `${what}: a secret stands in what is shown:\n${text}`);
}

/** A fault, and the codes that it may be told as. */
export interface FaultScenario {
  readonly name: string;
  /** `echo` stands in the answer, as a proxy quotes a request. */
  readonly fault: (echo: string) => TrackerFault;
  readonly codes: readonly PluginErrorCode[];
  readonly retryable: boolean;
  /** Milliseconds until the call is aborted; the error must be there soon after. */
  readonly deadline_ms?: number;
}

/** What every plugin that calls a tracker must survive. */
export const faultScenarios: readonly FaultScenario[] = [
  {
    name: "503",
    fault: (echo) => ({ kind: "status", status: 503, body: `<html>unavailable ${echo}</html>` }),
    codes: ["unavailable"],
    retryable: true,
  },
  {
    name: "502, JSON",
    fault: (echo) => ({ kind: "status", status: 502, body: json(`bad gateway ${echo}`) }),
    codes: ["unavailable"],
    retryable: true,
  },
  { name: "a dropped connection", fault: () => ({ kind: "drop" }), codes: ["unavailable"], retryable: true },
  { name: "a truncated answer", fault: () => ({ kind: "truncate" }), codes: ["unavailable"], retryable: true },
  {
    name: "an answer that is no JSON",
    fault: () => ({ kind: "status", status: 200, body: "<html>welcome</html>" }),
    codes: ["unavailable"],
    retryable: true,
  },
  {
    name: "refused credentials",
    fault: (echo) => ({ kind: "status", status: 401, body: json(`bad token ${echo}`) }),
    codes: ["unauthorized"],
    retryable: false,
  },
  {
    name: "429 for an hour",
    fault: (echo) => ({ kind: "status", status: 429, headers: { "retry-after": "3600" }, body: json(`slow down ${echo}`) }),
    codes: ["rate_limited"],
    retryable: true,
  },
  { name: "no answer", fault: () => ({ kind: "hang" }), codes: ["timeout"], retryable: true, deadline_ms: 300 },
];

const json = (message: string): string => JSON.stringify({ message });

/** Lets `run` meet the trouble: the error has its code, comes in time, and shows no secret. */
export async function assertHandlesFault(
  trouble: FaultScenario,
  tracker: Pick<TestTracker, "fault">,
  what: string,
  run: (deadline_ms: number) => unknown,
  secrets: readonly string[],
): Promise<void> {
  const fault = trouble.fault(secrets.join(" "));
  tracker.fault(fault);
  const deadline = trouble.deadline_ms ?? 8000;
  const started = performance.now();
  const error = await expectPluginError(`${what} at ${trouble.name}`, () => run(deadline), secrets);
  const took = performance.now() - started;
  assert.ok(
    trouble.codes.includes(error.code),
    `${what} at ${trouble.name}: code must be ${trouble.codes.join(" or ")}; it is ${error.code}: ${error.message}`,
  );
  assert.equal(error.retryable, trouble.retryable, `${what} at ${trouble.name}: retryable must be ${trouble.retryable}`);
  assert.ok(
    took < deadline + 1000,
    `${what} at ${trouble.name}: the deadline was ${deadline} ms, the error came after ${Math.round(took)} ms`,
  );
  const wait = fault.headers?.["retry-after"];
  if (wait) {
    const told = error.retry_after_ms ?? 0;
    assert.ok(
      told > Number(wait) * 900,
      `${what} at ${trouble.name}: retry_after_ms must be about ${Number(wait) * 1000}; it is ${told}`,
    );
  }
}

/** Starts a tracker, or another stranger, for one case and ends it. */
export async function withTracker<T extends Pick<TestTracker, "heal" | "close">>(
  start: () => Promise<T>,
  run: (tracker: T) => Promise<void>,
): Promise<void> {
  const tracker = await start();
  try {
    await run(tracker);
  } finally {
    tracker.heal();
    await tracker.close();
  }
}
