import { expect, test } from "vitest";
import { startChild } from "./child.ts";

/** A shell that leaves a descendant, which keeps its pipes open. The first line is its process id. */
const shell = (then: string) => {
  const line = Promise.withResolvers<string>();
  const launch = { command: "/bin/sh", args: ["-c", `sleep 600 & echo $!; ${then}`] };
  const child = startChild({ launch, memoryMb: 64, onLine: line.resolve });
  return { child, descendant: line.promise.then(Number) };
};
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a process has ended even if a descendant keeps its pipes open", async () => {
  const { child, descendant } = shell("exit 3");
  expect(await child.whenExited).toMatchObject({ reason: "it exited with code 3" });
  process.kill(await descendant, "SIGKILL");
});

test.runIf(process.platform === "linux")("a process that is killed leaves no descendant behind", async () => {
  const { child, descendant } = shell("wait");
  const pid = await descendant;
  expect(isAlive(pid)).toBe(true);
  child.kill("the test is over");
  expect(await child.whenExited).toMatchObject({ reason: "the test is over" });
  await expect.poll(() => isAlive(pid), { timeout: 30_000 }).toBe(false);
});
