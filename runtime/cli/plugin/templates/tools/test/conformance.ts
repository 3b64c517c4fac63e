import type { Conformance } from "@signalbox/sdk/testing";

/** What `signalbox plugin test` calls the built plugin with. HTTP is answered from `test/http/*.json`. */
export const conformance: Conformance = {
  tools: {
    tools: {
      count_words: { inputs: [{ text: "one two  three" }], refused: [{}, { text: 1 }], offline: true },
      get_status: { inputs: [{ service: "web" }], refused: [{}, { service: "" }] },
    },
  },
};
