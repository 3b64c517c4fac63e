import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeOperations } from "@signalbox/sdk/testing";
import { triage } from "../src/use-case.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every use case must pass, in the sandbox.
test("without its agent it says what to do", async () => {
  const call = { signal: AbortSignal.timeout(60_000), state: null, save: async () => {} };
  await assert.rejects(async () => triage(new FakeOperations(["pm_default"])).setup({}, call), /default seed/);
});
