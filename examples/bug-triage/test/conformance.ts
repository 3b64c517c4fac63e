import type { Conformance } from "@signalbox/sdk/testing";

export const conformance: Conformance = {
  useCases: {
    "bug-triage": {
      rows: {
        agents: [{ id: "pm_default" }],
        projects: [{ id: 1, name: "Another", source: "alpha", source_project_id: "octo/app" }],
        "webhook-mappings": [{ id: 1, source: "alpha", event_type: "issues.opened", canonical_trigger: "issue.created" }],
      },
      request: { project_id: "octo/bugs" },
    },
  },
};
