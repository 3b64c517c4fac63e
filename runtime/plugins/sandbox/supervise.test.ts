import { expect, test } from "vitest";
import { Refusal } from "../admit.ts";
import type { Exit } from "./child.ts";
import type { Sandbox } from "./open.ts";
import { type ProcessState, SupervisedProcess } from "./supervise.ts";

/** A process that ends on SIGTERM or at the end of its input. */
function stand() {
  const processes: { end(reason: string): void }[] = [];
  const states: ProcessState[] = [];
  const open = async (): Promise<Sandbox> => {
    let ended = (_: Exit) => {};
    const whenExited = new Promise<Exit>((done) => {
      ended = done;
    });
    const end = (reason: string) => ended({ reason, stderr: "" });
    processes.push({ end });
    const call = async () => "answer";
    return {
      call,
      whenExited,
      memory: () => 1,
      pid: processes.length,
      kill: end,
      close: async () => end("closed"),
    } as unknown as Sandbox;
  };
  return { processes, states, open };
}
const target = { kind: "tools", name: "x", method: "run" } as const;
const options = (open: () => Promise<Sandbox>, states: ProcessState[]) => ({
  name: "p",
  open,
  concurrency: 1,
  onStatus: ({ state }: { state: ProcessState }) => void states.push(state),
  times: { firstBackoff: 5, maxBackoff: 10, crashes: 3 },
});
const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((done) => setTimeout(done, 1));
};

test("a crash leads to a later start, the third to quarantine, and start begins anew", async () => {
  const { processes, states, open } = stand();
  const plugin = new SupervisedProcess(options(open, states));
  await plugin.start();
  for (let i = 1; i <= 3; i++) {
    await until(() => processes.length === i);
    await until(() => plugin.status().pid !== null);
    processes.at(-1)?.end(`crash ${i}`);
    await until(() => plugin.status().pid === null);
    if (i < 3) await expect(plugin.call(target, [])).rejects.toMatchObject({ code: "unavailable", retryable: true });
  }
  expect(plugin.status()).toMatchObject({ state: "quarantined", code: "PLUGIN_CRASHED", crashes: 3 });
  expect(states).toEqual([
    "starting",
    "ready",
    "backoff",
    "starting",
    "degraded",
    "backoff",
    "starting",
    "degraded",
    "quarantined",
  ]);
  await plugin.start();
  expect(plugin.status()).toMatchObject({ state: "ready", crashes: 0 });
  await expect(plugin.call(target, [])).resolves.toBe("answer");
  await plugin.stop();
});

test("a permanent error is not retried by restarts", async () => {
  const states: ProcessState[] = [];
  const plugin = new SupervisedProcess(
    options(() => Promise.reject(new Refusal("UNKNOWN_CONTRACT", "The contract must be 1; it is 7.")), states),
  );
  await plugin.start();
  expect(plugin.status()).toMatchObject({
    state: "quarantined",
    code: "UNKNOWN_CONTRACT",
    reason: "The contract must be 1; it is 7.",
  });
});

test("a machine that can run no plugin is no crash of the plugin: it waits, and calls of its tools fail at once", async () => {
  const { open, states } = stand();
  let starts = 0;
  const noSandbox = new Refusal("NO_SANDBOX", "Deno was not found.");
  const plugin = new SupervisedProcess(options(() => (++starts < 5 ? Promise.reject(noSandbox) : open()), states));
  await plugin.start();
  expect(plugin.status()).toMatchObject({ state: "backoff", code: "NO_SANDBOX", crashes: 0 });
  await expect(plugin.call(target, [])).rejects.toMatchObject({ code: "unavailable", retryable: false });
  await until(() => plugin.status().state === "ready");
  expect(states).not.toContain("quarantined");
  await plugin.stop();
});

test("a call aborted while waiting does not block the next", async () => {
  const { states, open } = stand();
  let answer = () => {};
  const plugin = new SupervisedProcess(
    options(async () => {
      const sandbox = await open();
      return { ...sandbox, call: () => new Promise((done) => (answer = () => done("first"))) } as Sandbox;
    }, states),
  );
  await plugin.start();
  const first = plugin.call(target, []);
  const aborted = plugin.call(target, [], { signal: AbortSignal.timeout(5) });
  await expect(aborted).rejects.toMatchObject({ name: "TimeoutError" });
  answer();
  await expect(first).resolves.toBe("first");
  const third = plugin.call(target, []);
  await new Promise((done) => setTimeout(done, 5));
  answer();
  await expect(third).resolves.toBe("first");
  await plugin.stop();
});

test("a call to a quarantined plugin is answered at once, and no caller waits for an operator", async () => {
  const states: ProcessState[] = [];
  const plugin = new SupervisedProcess(
    options(() => Promise.reject(new Refusal("BAD_CONFIG", "The setting url is missing.")), states),
  );
  await plugin.start();
  const code = { code: "unavailable", message: expect.stringContaining("BAD_CONFIG") };
  await expect(plugin.call(target, [])).rejects.toMatchObject({ ...code, retryable: false });
  // Deferred webhooks and executions are tried again, but later than one call may wait (60 s).
  const other = await plugin
    .call({ kind: "sources", name: "x", method: "deliver" }, [])
    .catch((error) => error as { retry_after_ms: number });
  expect(other).toMatchObject({ ...code, retryable: true });
  expect((other as { retry_after_ms: number }).retry_after_ms).toBeGreaterThan(60_000);
});
