import type { NewMapping } from "./queries.ts";

const alpha = (event_type: string, jq_filter: string, canonical_trigger: string): NewMapping => ({
  source: "alpha",
  event_type,
  jq_filter,
  canonical_trigger,
  path_pattern: null,
  extraction_rules: null,
  auth: { method: "none" },
  secret: null,
});

/** Events that the source event mappings cannot distinguish. */
export const defaultWebhookMappings: readonly NewMapping[] = [
  alpha("pull_request", '.action == "closed" and .pull_request.merged == true', "pr.merged"),
  alpha("pull_request", '.action == "synchronize"', "pr.updated"),
  alpha("pull_request_review", '.action == "submitted"', "pr.reviewed"),
  alpha("deployment_status", '.deployment_status.state == "success"', "deployment.completed"),
];
