import type { Conformance } from "@signalbox/sdk/testing";
import { startStore } from "./store.ts";

/** What `signalbox plugin test` plays with the built plugin: a store of its own, started for it. */
export const conformance: Conformance = {
  config: { url: "http://127.0.0.1:9" },
  secrets: { token: "test-token" },
  memories: { "my-plugin": { start: startStore } },
};
