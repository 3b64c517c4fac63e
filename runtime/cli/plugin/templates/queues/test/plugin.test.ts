import assert from "node:assert/strict";
import { test } from "node:test";
import { setUpPlugin } from "@signalbox/sdk/testing";
import plugin from "../src/plugin.ts";
import { startQueue } from "./server.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every queue must pass, in the sandbox.
test("a wrong token is reported as unauthorized", async () => {
  const service = await startQueue();
  const { queues } = await setUpPlugin(plugin, { config: { ...service.config, token: "wrong" } });
  const queue = queues?.["my-plugin"];
  assert.ok(queue && "ack" in queue);
  await assert.rejects(queue.ack("1"), { code: "unauthorized" });
  await service.close();
});
