import type { Conformance } from "@signalbox/sdk/testing";

export const conformance: Conformance = {
  useCases: { "bug-triage": { request: { project_id: "octo/bugs" } } },
  routes: { standing: { requests: [{}, { query: { project: "octo/bugs" } }], refused: [{ query: { project: "" } }] } },
};
