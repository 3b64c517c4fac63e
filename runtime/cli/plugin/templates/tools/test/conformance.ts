import type { Conformance } from "@signalbox/sdk/testing";

/** Inputs with which `signalbox plugin test` calls the tools. `test/http/*.json` contains the HTTP responses. */
export const conformance: Conformance = {
  tools: {
    tools: {
      count_words: { inputs: [{ text: "one two  three" }], refused: [{}, { text: 1 }], offline: true },
      get_status: { inputs: [{ service: "web" }], refused: [{}, { service: "" }] },
    },
  },
};
