import type { createSource, createTrigger } from "@signalbox/schema/mappings";
import type { Input } from "@signalbox/schema/operation";

const row = (
  source: string,
  event_name: string,
  action: string | null,
  canonical_trigger: string,
): Input<typeof createSource> => ({
  source,
  event_name,
  action,
  canonical_trigger,
});

/** The default source event mappings of the specification. */
export const defaultSourceMappings = [
  row("alpha", "issues", "opened", "issue.created"),
  row("alpha", "issues", "closed", "issue.closed"),
  row("alpha", "pull_request", "opened", "pr.opened"),
  row("alpha", "pull_request", "closed", "pr.closed"),
  row("alpha", "issue_comment", "created", "issue.commented"),
  row("beta", "Issue Hook", "open", "issue.created"),
  row("beta", "Issue Hook", "close", "issue.closed"),
  row("beta", "Merge Request Hook", "open", "pr.opened"),
  row("gamma", "gamma:issue_created", null, "issue.created"),
  row("gamma", "gamma:issue_updated", null, "issue.updated"),
  row("gamma", "comment_created", null, "issue.commented"),
  row("delta", "issue.created", null, "issue.created"),
  row("delta", "issue.updated", null, "issue.updated"),
];

export const defaultTriggerMappings: readonly Pick<Input<typeof createTrigger>, "canonical_trigger" | "task_id">[] = [
  { canonical_trigger: "issue.created", task_id: "triage_initial_intent" },
  { canonical_trigger: "issue.created", task_id: "tech_discovery_review" },
  { canonical_trigger: "pr.opened", task_id: "quality_verification" },
  { canonical_trigger: "pr.opened", task_id: "code_quality_audit" },
  { canonical_trigger: "issue.updated", task_id: "customer_uat_sync" },
];
