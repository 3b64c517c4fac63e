import type { Conformance } from "@signalbox/sdk/testing";

export const conformance: Conformance = {
  tools: {
    tools: {
      find_vulnerabilities: {
        inputs: [
          { ecosystem: "npm", package: "lodash", version: "4.17.20" },
          { ecosystem: "npm", package: "lodash", version: "999.0.0" },
        ],
        refused: [{}, { ecosystem: "npm", package: "lodash" }, { ecosystem: "", package: "lodash", version: "1" }],
      },
      get_vulnerability: { inputs: [{ id: "GHSA-35jh-r3h4-6jhm" }], refused: [{}, { id: "../../etc" }, { id: "" }] },
    },
  },
};
