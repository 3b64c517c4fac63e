import assert from "node:assert/strict";
import { test } from "node:test";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import plugin from "../src/plugin.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every plugin must pass, in the sandbox.
test("an empty text has no words", async () => {
  const { tools } = await setUpPlugin(plugin);
  assert.deepEqual(await tools?.count_words?.run({ text: " \n" }, callContext({}) as never), { words: 0 });
});
