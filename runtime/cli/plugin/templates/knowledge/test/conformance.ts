import type { Conformance } from "@signalbox/sdk/testing";
import { startHandbook } from "./handbook.ts";

/** Input for the suites of `signalbox plugin test`. */
export const conformance: Conformance = {
  knowledge: {
    "my-plugin": {
      settings: (url) => ({ url, book: "staff", token: "test-token" }),
      elsewhere: (url) => ({ url, book: "nowhere", token: "test-token" }),
      body: "## Setting up\n\nGröße 🦉 zählt",
      strange: ["", "a\u0000b", "#".repeat(10_000), "> ".repeat(1000), "```\nnever closed"],
      wiki: startHandbook,
    },
  },
};
