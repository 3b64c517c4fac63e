import type { Conformance } from "@signalbox/sdk/testing";

/** What `signalbox plugin test` plays with the built plugin. The host has the default agents and tasks. */
export const conformance: Conformance = {
  useCases: { "my-plugin": { needs_agent: "pm_default", request: { project_id: "octo/triage" } } },
};
