import type { Conformance } from "@signalbox/sdk/testing";

/** Requests that `signalbox plugin test` sends to the built plugin. The simulated host has no projects. */
export const conformance: Conformance = {
  routes: {
    projects: { requests: [{}, { query: { name: "shop" } }], refused: [{ query: { name: "x".repeat(101) } }] },
    count_words: { requests: [{ body: { text: "one two  three" } }], refused: [{}, { body: { text: 1 } }] },
  },
};
