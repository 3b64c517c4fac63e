import type { Conformance } from "@signalbox/sdk/testing";
import { startStore } from "./store.ts";

/** Input for the suites of `signalbox plugin test`, which start their own store. */
export const conformance: Conformance = {
  config: { url: "http://127.0.0.1:9" },
  secrets: { token: "test-token" },
  memories: { "my-plugin": { start: startStore } },
};
