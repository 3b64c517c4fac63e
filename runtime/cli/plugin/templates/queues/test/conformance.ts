import type { Conformance } from "@signalbox/sdk/testing";
import { startQueue } from "./server.ts";

/** Input for the suites of `signalbox plugin test`, which start a queue service for each case. */
export const conformance: Conformance = {
  config: { url: "http://127.0.0.1:9" },
  secrets: { token: "test-token" },
  queues: { "my-plugin": { start: startQueue } },
};
