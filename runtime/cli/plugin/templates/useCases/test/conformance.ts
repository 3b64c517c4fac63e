import type { Conformance } from "@signalbox/sdk/testing";

/** Input for the suites of `signalbox plugin test`. The simulated host has the default agents and tasks. */
export const conformance: Conformance = {
  useCases: { "my-plugin": { needs_agent: "pm_default", request: { project_id: "octo/triage" } } },
};
