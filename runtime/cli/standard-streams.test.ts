import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test.runIf(process.platform === "linux")("output to a full disk is reported", { timeout: 60_000 }, () => {
  const full = openSync("/dev/full", "w");
  const args = [join(import.meta.dirname, "main.ts"), "--help"];
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", full, "pipe"], encoding: "utf8" });
  closeSync(full);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^The output is incomplete, .*ENOSPC.*\.\n$/)]);
});
