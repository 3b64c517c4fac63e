import { expect, test } from "vitest";
import { fakeCapabilities, setUpPlugin } from "./index.ts";
import { sampleTools } from "./sample/plugin.ts";

test("setUp hands out only what the plugin needs", async () => {
  let received: string[] = [];
  const plugin = {
    ...sampleTools(),
    setup: (context: object) => {
      received = Object.keys(context);
      return {};
    },
  };
  await setUpPlugin(plugin, { capabilities: fakeCapabilities() });
  expect(received).toEqual(["config", "fetch"]);
});
