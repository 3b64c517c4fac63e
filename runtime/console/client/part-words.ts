import type { ConnectionStatus, EffectivePolicy, Plugin, ProposalState, Status, StepState } from "../../../schema/gen/client.ts";
import { deliveries, runs, type StateText } from "./words.ts";

const dryRun: StateText = {
  label: "dry run",
  sentence: "Nothing was written to the tracker: this shows what the run would have written.",
  next: "Compare it with another run, or replay the delivery to write it.",
  tone: "idle",
};
const proposedText: StateText = { sentence: "The write waits for a decision.", next: "Approve or reject it.", tone: "wait" };
const rejectedText: StateText = {
  sentence: "The write was rejected and did not happen.",
  next: "Replay the delivery to do the work again.",
  tone: "idle",
};
const expiredText: StateText = {
  sentence: "No one decided in time, so it was not written.",
  next: "Replay the delivery to have it proposed again.",
  tone: "idle",
};
const failedText: StateText = { sentence: "It failed.", next: "Read the error, then restart the run.", tone: "bad" };

const proposals: Readonly<Record<ProposalState, StateText>> = {
  proposed: proposedText,
  applied: {
    label: "written",
    sentence: "It was approved and written to the tracker.",
    next: "Open it at the tracker.",
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
    sentence: "The request was sent, and no answer has arrived yet.",
    next: "Nothing to do: the answer appears here.",
    tone: "busy",
  },
  succeeded: { sentence: "The step is done.", next: "Open it to see what went in and what came out.", tone: "good" },
  failed: failedText,
  dry_run: dryRun,
  proposed: proposedText,
  rejected: rejectedText,
  expired: expiredText,
};

const service: Readonly<Record<Status["state"], StateText>> = {
  ok: { sentence: "All parts of the service work.", next: "Nothing to do.", tone: "good" },
  degraded: {
    sentence: "The service works, but a part of it does not.",
    next: "See the checks below: each names its cause.",
    tone: "wait",
  },
  stopped: { sentence: "The service processes no work.", next: "See the checks below: each names its cause.", tone: "bad" },
};

const checks: Readonly<Record<Status["checks"][number]["state"], StateText>> = {
  ok: { sentence: "It works.", next: "Nothing to do.", tone: "good" },
  degraded: {
    sentence: "It works with a limit or a risk.",
    next: "Read the message: it names the cause.",
    tone: "wait",
  },
  failed: { sentence: "It does not work.", next: "Fix what the message names; it is checked again by itself.", tone: "bad" },
  unknown: { sentence: "It has not been checked yet.", next: "Wait a minute for the first check.", tone: "idle" },
};

const accounts: Readonly<Record<ConnectionStatus, StateText>> = {
  ok: { label: "works", sentence: "The platform accepts the account.", next: "Nothing to do.", tone: "good" },
  failed: {
    label: "does not work",
    sentence: "The platform refuses the account or does not answer.",
    next: "Check the credentials and the address, then test again.",
    tone: "bad",
  },
  not_configured: {
    label: "not set up",
    sentence: "No credentials are set.",
    next: "Set them up if you want to use this platform.",
    tone: "idle",
  },
};

const busy = "Nothing to do: it becomes ready by itself.";
const plugins: Readonly<Record<Plugin["state"], StateText>> = {
  installed: { sentence: "The plugin is not approved yet.", next: "Read what it may do, then approve it.", tone: "wait" },
  approved: { sentence: "The plugin is approved and not enabled.", next: "Enable it to use it.", tone: "idle" },
  enabled: { sentence: "The plugin is enabled and starts soon.", next: busy, tone: "busy" },
  starting: { sentence: "The plugin is starting.", next: busy, tone: "busy" },
  ready: { sentence: "The plugin works.", next: "Nothing to do.", tone: "good" },
  degraded: { sentence: "The plugin works partly.", next: "Read the reason and the plugin's log.", tone: "wait" },
  backoff: {
    label: "restarts later",
    sentence: "The plugin ended unexpectedly and is started again after a pause.",
    next: "Read the reason and the plugin's log if it keeps ending.",
    tone: "wait",
  },
  quarantined: {
    sentence: "The plugin ended too often and is not started again.",
    next: "Read its log, install a version that works, or enable it again.",
    tone: "bad",
  },
  stopped: {
    sentence: "The plugin is enabled, but it does not run.",
    next: "Read the reason, fix it, then enable it again.",
    tone: "bad",
  },
};

/** The limits of a policy. */
export const limits: Readonly<Record<keyof EffectivePolicy, string>> = {
  trigger_allowed_bots: "Bots and apps that may start runs",
  trigger_min_standing: "Lowest role that may start runs",
  write_min_standing: "Lowest role for tools that write",
  loop_max_hops: "Replies in a row to its own writes, per issue",
  run_tokens: "Tokens per run",
  run_seconds: "Seconds of work per run",
  run_writes: "Writes by tools per run",
  issue_runs_per_hour: "Runs per issue and hour",
  issue_tokens_per_day: "Tokens per issue and day",
  author_runs_per_hour: "Runs per hour of an author below collaborator",
  day_tokens: "Tokens per day",
  day_usd: "US dollars per day",
  month_usd: "US dollars per month",
  on_close: "Its runs when an issue is closed",
  targets: "Where tools may write",
  reads: "Where tools may read",
  allow: "What its texts may contain",
  staged: "All its writes wait for approval",
  approve: "Writes that wait for approval",
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
