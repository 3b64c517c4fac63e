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

/** Runs a call that must fail and returns its `PluginError`. The error must not contain a secret. */
export async function expectPluginError(
  what: string,
  run: () => unknown,
  secrets: readonly string[] = [],
): Promise<PluginErrorShape> {
  let thrown: unknown;
  try {
    const answer = await run();
    assert.fail(`${what} must throw; it returned ${inspect(answer)}`);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    thrown = error;
  }
  const parsed = shape.safeParse({ ...(thrown as object), message: (thrown as Error)?.message });
  assert.ok(parsed.success, `${what} must throw {code, message, retryable}; it threw ${inspect(thrown)}`);
  // Inspects deeply, because causes and requests are logged with the error.
  assertNoSecret(what, inspect(thrown, { depth: 8, showHidden: true }), secrets);
  return parsed.data as PluginErrorShape;
}

/** A secret that is not set is empty, and in no text. */
export function assertNoSecret(what: string, text: string, secrets: readonly string[]): void {
  const shown = secrets.some((secret) => secret !== "" && text.includes(secret));
  assert.ok(!shown, `${what}: the output contains a secret:\n${text}`);
}

/** A fault of a tracker, and the error codes that a plugin may report for it. */
export interface FaultScenario {
  readonly name: string;
  /** The response contains `echo`, like that of a proxy that quotes the request. */
  readonly fault: (echo: string) => TrackerFault;
  readonly codes: readonly PluginErrorCode[];
  readonly retryable: boolean;
  /** Milliseconds until the call is aborted. The error must follow within a second. */
  readonly deadline_ms?: number;
}

/** Faults that every plugin that calls a tracker must handle. */
export const faultScenarios: readonly FaultScenario[] = [
  {
    name: "the status 503",
    fault: (echo) => ({ kind: "status", status: 503, body: `<html>unavailable ${echo}</html>` }),
    codes: ["unavailable"],
    retryable: true,
  },
  {
    name: "the status 502 with JSON",
    fault: (echo) => ({ kind: "status", status: 502, body: json(`bad gateway ${echo}`) }),
    codes: ["unavailable"],
    retryable: true,
  },
  { name: "a dropped connection", fault: () => ({ kind: "drop" }), codes: ["unavailable"], retryable: true },
  { name: "a truncated response", fault: () => ({ kind: "truncate" }), codes: ["unavailable"], retryable: true },
  {
    name: "a response that is not JSON",
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
    name: "the status 429 with a Retry-After of an hour",
    fault: (echo) => ({ kind: "status", status: 429, headers: { "retry-after": "3600" }, body: json(`slow down ${echo}`) }),
    codes: ["rate_limited"],
    retryable: true,
  },
  { name: "no response", fault: () => ({ kind: "hang" }), codes: ["timeout"], retryable: true, deadline_ms: 300 },
];

const json = (message: string): string => JSON.stringify({ message });

/** Runs a call under a fault. It must fail in time with one of the expected codes and without showing a secret. */
export async function assertHandlesFault(
  scenario: FaultScenario,
  tracker: Pick<TestTracker, "fault">,
  what: string,
  run: (deadline_ms: number) => unknown,
  secrets: readonly string[],
): Promise<void> {
  const fault = scenario.fault(secrets.join(" "));
  tracker.fault(fault);
  const deadline = scenario.deadline_ms ?? 8000;
  const startedAt = performance.now();
  // On a busy machine the call learns of its deadline no sooner than this timer fires.
  let due = deadline;
  const timer = setTimeout(() => {
    due = performance.now() - startedAt;
  }, deadline);
  const error = await expectPluginError(`${what} with ${scenario.name}`, () => run(deadline), secrets);
  clearTimeout(timer);
  const took = performance.now() - startedAt;
  assert.ok(
    scenario.codes.includes(error.code),
    `${what} with ${scenario.name}: the code must be ${scenario.codes.join(" or ")}; it is ${error.code}: ${error.message}`,
  );
  assert.equal(error.retryable, scenario.retryable, `${what} with ${scenario.name}: retryable must be ${scenario.retryable}`);
  assert.ok(
    took < due + 1000,
    `${what} with ${scenario.name}: the deadline was ${deadline} ms, but the error came after ${Math.round(took)} ms`,
  );
  const wait = fault.headers?.["retry-after"];
  if (wait) {
    const wait_ms = error.retry_after_ms ?? 0;
    assert.ok(
      wait_ms > Number(wait) * 900,
      `${what} with ${scenario.name}: retry_after_ms must be about ${Number(wait) * 1000}; it is ${wait_ms}`,
    );
  }
}

/** Starts a test server for one case and closes it afterwards. */
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
