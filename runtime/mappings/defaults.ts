import type { createSource, createTrigger, optionalMappings } from "@signalbox/schema/mappings";
import type { Input } from "@signalbox/schema/operation";
import type { z } from "zod";

type TriggerMapping = Pick<Input<typeof createTrigger>, "canonical_trigger" | "task_id">;
type OptionalSet = z.output<typeof optionalMappings>;

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

/** The triggers that every installation has, even if no mapping names them. */
export const builtInTriggers = [
  ...["issue.created", "issue.updated", "issue.closed", "issue.commented"],
  ...["pr.opened", "pr.updated", "pr.closed", "pr.merged", "pr.reviewed", "deployment.completed"],
] as const;

/** Sources whose events have no action: their event names say what happened. */
export const sourcesWithoutActions: ReadonlySet<string> = new Set(["gamma", "delta"]);

/** The default source event mappings. */
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

export const defaultTriggerMappings: readonly TriggerMapping[] = [
  { canonical_trigger: "issue.created", task_id: "triage_initial_intent" },
  { canonical_trigger: "issue.created", task_id: "tech_discovery_review" },
  { canonical_trigger: "pr.opened", task_id: "quality_verification" },
  { canonical_trigger: "pr.opened", task_id: "code_quality_audit" },
  { canonical_trigger: "issue.updated", task_id: "customer_uat_sync" },
];

/** Optional sets of further events. Each starts more runs than the defaults. */
export const optionalSourceMappings: Readonly<Record<OptionalSet, ReturnType<typeof row>[]>> = {
  comments: [
    row("beta", "Note Hook", "create", "issue.commented"),
    row("delta", "issue.activity.created", null, "issue.commented"),
  ],
  reviews: [
    row("alpha", "pull_request_review", "submitted", "pr.reviewed"),
    row("beta", "Merge Request Hook", "approval", "pr.reviewed"),
    row("beta", "Merge Request Hook", "approved", "pr.reviewed"),
  ],
  updates: [
    row("alpha", "issues", "edited", "issue.updated"),
    row("alpha", "pull_request", "synchronize", "pr.updated"),
    row("beta", "Issue Hook", "update", "issue.updated"),
  ],
  closes: [row("beta", "Merge Request Hook", "close", "pr.closed"), row("beta", "Merge Request Hook", "merge", "pr.merged")],
};

/** Mappings for the triggers that have no task in the defaults. */
export const optionalTriggerMappings: Readonly<Record<OptionalSet, readonly TriggerMapping[]>> = {
  comments: [{ canonical_trigger: "issue.commented", task_id: "intent_interpretation" }],
  reviews: [{ canonical_trigger: "pr.reviewed", task_id: "technical_grooming" }],
  updates: [{ canonical_trigger: "pr.updated", task_id: "code_quality_audit" }],
  closes: [
    { canonical_trigger: "issue.closed", task_id: "quality_verification" },
    { canonical_trigger: "pr.merged", task_id: "quality_verification" },
    { canonical_trigger: "pr.closed", task_id: "customer_uat_sync" },
  ],
};

/** The optional set that maps a trigger to a task; `null` if none does. */
export const setOf = (trigger: string): OptionalSet | null =>
  (Object.keys(optionalTriggerMappings) as OptionalSet[]).find((name) =>
    optionalTriggerMappings[name].some((one) => one.canonical_trigger === trigger),
  ) ?? null;

/** Whether a default or optional mapping names this event. */
export const isSeeded = (source: string, eventName: string): boolean =>
  [defaultSourceMappings, ...Object.values(optionalSourceMappings)].some((rows) =>
    rows.some((one) => one.source === source && one.event_name === eventName),
  );
