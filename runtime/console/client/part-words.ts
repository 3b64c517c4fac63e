import type {
  ConnectionStatus,
  EffectivePolicy,
  Plugin,
  ProposalState,
  Status,
  StepState,
  TaskExecution,
} from "../../../schema/gen/client.ts";
import { deliveries, runs, type StateText } from "./words.ts";

const dryRun: StateText = {
  label: "dry run",
  sentence: "Nothing was written to the tracker. This is what the run would have written.",
  next: "Compare it with another run, or replay the delivery to write it.",
  tone: "idle",
};
const proposedText: StateText = { sentence: "The write is waiting for a decision.", next: "Approve or reject it.", tone: "wait" };
const rejectedText: StateText = {
  sentence: "The write was rejected.",
  next: "Replay the delivery to do the work again.",
  tone: "idle",
};
const expiredText: StateText = {
  sentence: "No one decided in time, so it was not written.",
  next: "Replay the delivery to propose it again.",
  tone: "idle",
};
const failedText: StateText = { sentence: "It failed.", next: "Read the error, then restart the run.", tone: "bad" };

const proposals: Readonly<Record<ProposalState, StateText>> = {
  proposed: proposedText,
  applied: {
    label: "written",
    sentence: "It was approved and written to the tracker.",
    next: "Open it in the tracker.",
    tone: "good",
  },
  rejected: rejectedText,
  expired: expiredText,
  failed: failedText,
  dry_run: dryRun,
};

const steps: Readonly<Record<StepState, StateText>> = {
  started: {
    label: "running",
    sentence: "The request was sent, but no response has arrived yet.",
    next: "Nothing to do. The response will appear here.",
    tone: "busy",
  },
  succeeded: { sentence: "The step is done.", next: "Open it to see its input and output.", tone: "good" },
  failed: failedText,
  dry_run: dryRun,
  proposed: proposedText,
  rejected: rejectedText,
  expired: expiredText,
};

const service: Readonly<Record<Status["state"], StateText>> = {
  ok: { sentence: "Everything is working.", next: "Nothing to do.", tone: "good" },
  degraded: {
    sentence: "The service is running, but part of it is not working.",
    next: "See the checks below for the cause.",
    tone: "wait",
  },
  stopped: { sentence: "The service is not processing any work.", next: "See the checks below for the cause.", tone: "bad" },
};

const checks: Readonly<Record<Status["checks"][number]["state"], StateText>> = {
  ok: { sentence: "It is working.", next: "Nothing to do.", tone: "good" },
  degraded: {
    sentence: "It is working, but with a limitation or a risk.",
    next: "Read the message for the cause.",
    tone: "wait",
  },
  failed: {
    sentence: "It is not working.",
    next: "Fix the cause given in the message. It is rechecked automatically.",
    tone: "bad",
  },
  unknown: { sentence: "It has not been checked yet.", next: "Wait a minute for the first check.", tone: "idle" },
};

const accounts: Readonly<Record<ConnectionStatus, StateText>> = {
  ok: { label: "working", sentence: "The platform accepts the account.", next: "Nothing to do.", tone: "good" },
  failed: {
    label: "not working",
    sentence: "The platform rejects the account or is not responding.",
    next: "Check the credentials and the address, then test again.",
    tone: "bad",
  },
  not_configured: {
    label: "not set up",
    sentence: "No credentials are set.",
    next: "Set them to use this platform.",
    tone: "idle",
  },
};

const busy = "Nothing to do. It will be ready shortly.";
const plugins: Readonly<Record<Plugin["state"], StateText>> = {
  installed: { sentence: "The plugin is not approved yet.", next: "Review its permissions, then approve it.", tone: "wait" },
  approved: { sentence: "The plugin is approved but not enabled.", next: "Enable it to use it.", tone: "idle" },
  enabled: { sentence: "The plugin is enabled and will start soon.", next: busy, tone: "busy" },
  starting: { sentence: "The plugin is starting.", next: busy, tone: "busy" },
  ready: { sentence: "The plugin is working.", next: "Nothing to do.", tone: "good" },
  degraded: {
    sentence: "The plugin is running, but it crashed in the last ten minutes.",
    next: "Check the reason and the plugin's log.",
    tone: "wait",
  },
  backoff: {
    label: "waiting to restart",
    sentence: "The plugin exited or could not start. It will be started again after a delay.",
    next: "If that happens again, check the reason and the plugin's log.",
    tone: "wait",
  },
  quarantined: {
    sentence: "The plugin exited too often and will not be restarted.",
    next: "Read its log, install a version that works, or enable it again.",
    tone: "bad",
  },
  stopped: {
    sentence: "The plugin is enabled but not running.",
    next: "Read the reason, fix the cause, then enable it again.",
    tone: "bad",
  },
};

/** The limits of a policy. */
export const limits: Readonly<Record<keyof EffectivePolicy, string>> = {
  trigger_allowed_bots: "Bots and apps that can start runs",
  trigger_min_standing: "Minimum role to start runs",
  write_min_standing: "Minimum role for tools that write",
  loop_max_hops: "Consecutive replies to its own writes, per issue",
  run_tokens: "Tokens per run",
  run_seconds: "Seconds of work per run",
  run_writes: "Tool writes per run",
  issue_runs_per_hour: "Runs per issue per hour",
  issue_tokens_per_day: "Tokens per issue per day",
  author_runs_per_hour: "Runs per hour for an author below collaborator",
  day_tokens: "Tokens per day",
  day_usd: "US dollars per day",
  month_usd: "US dollars per month",
  on_close: "Unfinished runs when their issue is closed",
  targets: "Where tools can write",
  reads: "Where tools can read",
  allow: "What its text may contain",
  staged: "All writes need approval",
  approve: "Writes that need approval",
  presence: "How an issue shows that the agent is working",
};

/** Every state that the service names, by what has the state. */
export const meanings = {
  run: runs,
  delivery: deliveries,
  proposal: proposals,
  step: steps,
  service,
  check: checks,
  account: accounts,
  plugin: plugins,
};
export type Part = keyof typeof meanings;

/** What a state means. A state of a newer service has no words yet: its own name is shown. */
export function stateText(part: Part, state: string): StateText & { readonly label: string } {
  const texts: Readonly<Record<string, StateText>> = meanings[part];
  const label = state.replaceAll("_", " ");
  const text = Object.hasOwn(texts, state) ? texts[state] : undefined;
  return {
    label,
    ...(text ?? { sentence: `The state is “${label}”.`, next: "See the API reference at /docs.", tone: "idle" }),
  };
}

/** What a run's state means, and for one that succeeded, where its answer is. */
export function runSentence({ state, dry_run, result_url }: Pick<TaskExecution, "state" | "dry_run" | "result_url">): string {
  if (state !== "succeeded") return runs[state].sentence;
  if (dry_run)
    return "The agent answered. Nothing was written to the tracker. The proposals below show what it would have written.";
  return result_url ? "The agent answered, and the answer was posted." : "The agent answered, but no comment was posted.";
}
