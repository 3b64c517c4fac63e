import assert from "node:assert/strict";
import { test } from "node:test";
import { setUpPlugin } from "@signalbox/sdk/testing";
import plugin from "../src/plugin.ts";
import { startStore } from "./store.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every store must pass, in the sandbox.
test("a wrong token is reported as unauthorized", async () => {
  const store = await startStore();
  const { memories } = await setUpPlugin(plugin, { config: { ...store.config, token: "wrong" } });
  await assert.rejects(memories?.["my-plugin"]?.check() as Promise<void>, { code: "unauthorized" });
  await store.close();
});
