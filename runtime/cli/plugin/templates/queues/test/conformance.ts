import type { Conformance } from "@signalbox/sdk/testing";
import { startQueue } from "./server.ts";

/** What `signalbox plugin test` plays with the built plugin: a queue service of its own for each case. */
export const conformance: Conformance = {
  config: { url: "http://127.0.0.1:9" },
  secrets: { token: "test-token" },
  queues: { "my-plugin": { start: startQueue } },
};
