import assert from "node:assert/strict";
import { test } from "node:test";
import { callRoute } from "@signalbox/sdk";
import { FakeOperations, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
import plugin from "../src/plugin.ts";

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every route must pass, in the sandbox.
test("projects are found by a part of their name", async () => {
  const operations = new FakeOperations();
  for (const name of ["Shop", "Workshop", "Depot"]) await operations.call("projects.create", { name });
  const { routes } = await setUpPlugin(plugin, { capabilities: fakeCapabilities({ operations }) });
  assert.ok(routes?.projects);
  const call = { signal: AbortSignal.timeout(60_000), caller: "test" };
  const { body } = await callRoute(routes.projects, { query: { name: "shop" }, headers: {}, body: null }, call);
  assert.deepEqual(body, {
    projects: [
      { id: 1, name: "Shop" },
      { id: 2, name: "Workshop" },
    ],
  });
});
