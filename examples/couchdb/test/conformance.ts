import type { Conformance } from "@signalbox/sdk/testing";
import { startCouch } from "./server.ts";

export const conformance: Conformance = {
  config: { url: "http://127.0.0.1:9/memories", user: "signalbox" },
  secrets: { password: "couch-test-password" },
  memories: { couchdb: { start: startCouch } },
};
