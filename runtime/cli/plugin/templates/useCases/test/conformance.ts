import type { Conformance } from "@signalbox/sdk/testing";

/** What `signalbox plugin test` plays with the built plugin: the host as it is before the setup. */
export const conformance: Conformance = {
  useCases: {
    "my-plugin": {
      rows: {
        agents: [{ id: "pm_default" }],
        projects: [{ id: 1, name: "Another", source: "alpha", source_project_id: "octo/app" }],
      },
    },
  },
};
