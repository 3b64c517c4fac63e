import assert from "node:assert/strict";
import { test } from "node:test";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import plugin from "../src/plugin.ts";
import { startHandbook } from "./handbook.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every connector must pass, in the sandbox.
test("a page says which book it is in", async () => {
  const handbook = await startHandbook();
  const { knowledge } = await setUpPlugin(plugin);
  const call = callContext({ url: handbook.url, book: "staff", token: "test-token" });
  const [page] = (await knowledge?.["my-plugin"]?.read(["page-1"], call)) ?? [];
  assert.equal(page?.space, "staff");
  await handbook.close();
});
