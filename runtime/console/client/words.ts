/** How prominently a state is shown. */
export type Tone = "good" | "bad" | "busy" | "wait" | "idle";

export interface Meaning {
  readonly label: string;
  /** The meaning of the state, in one sentence. */
  readonly sentence: string;
  /** What to do next; empty if no action is needed. */
  readonly next: string;
  readonly tone: Tone;
}

/** The label and meaning of every state of the service. */
const states: Readonly<Record<string, Meaning>> = {
  queued: {
    label: "queued",
    sentence: "The run waits for a free worker, or for an earlier run on the same issue.",
    next: "Nothing to do. If it stays queued, Now shows whether the queue is paused or full.",
    tone: "wait",
  },
  held: {
    label: "held",
    sentence: "The run would exceed a limit of the policy, so it has not begun.",
    next: "Release it to run it once anyway, or raise the limit that the reason names.",
    tone: "wait",
  },
  running: { label: "running", sentence: "A worker has the run: the agent works on it now.", next: "", tone: "busy" },
  waiting: {
    label: "waiting",
    sentence: "The run waits for someone or something outside, such as your approval.",
    next: "See what it waits for, and approve or reject what the agent proposes.",
    tone: "wait",
  },
  succeeded: { label: "succeeded", sentence: "The agent has answered, and the answer is posted.", next: "", tone: "good" },
  failed: {
    label: "failed",
    sentence: "The run ended with an error, and will not be tried again by itself.",
    next: "Fix what the error names, then restart the run: it resumes after its last finished step.",
    tone: "bad",
  },
  cancelled: {
    label: "cancelled",
    sentence: "Someone cancelled the run. It will not post anything.",
    next: "Replay its delivery to do the work after all.",
    tone: "idle",
  },
  dispatched: {
    label: "dispatched",
    sentence: "The delivery fired a trigger, and its tasks were queued.",
    next: "",
    tone: "good",
  },
  discarded: {
    label: "discarded",
    sentence: "The delivery was understood and stored, and starts nothing.",
    next: "Read the reason. After a change of the routing, replay the delivery.",
    tone: "idle",
  },
  refused: {
    label: "refused",
    sentence: "The delivery was refused, and its body was not stored.",
    next: "Compare the secret and the address at the tracker with those of the connection, then send it again from there.",
    tone: "bad",
  },
  started: { label: "running", sentence: "The request was sent; no answer has arrived yet.", next: "", tone: "busy" },
  dry_run: {
    label: "dry run",
    sentence: "Nothing was written to the tracker: this shows what the run would have written.",
    next: "",
    tone: "idle",
  },
  proposed: { label: "proposed", sentence: "The write waits for your approval.", next: "Approve or reject it.", tone: "wait" },
  applied: { label: "written", sentence: "It was approved and written to the tracker.", next: "", tone: "good" },
  expired: {
    label: "expired",
    sentence: "No one decided in time, so it was not written.",
    next: "Replay the delivery to have it proposed again.",
    tone: "idle",
  },
  rejected: { label: "rejected", sentence: "The write was rejected and did not happen.", next: "", tone: "idle" },
  blocked: {
    label: "blocked",
    sentence: "The policy did not allow the write.",
    next: "Allow it in the policy of the agent or project, and restart the run.",
    tone: "bad",
  },
  ok: { label: "ok", sentence: "All parts of the service work.", next: "", tone: "good" },
  degraded: {
    label: "degraded",
    sentence: "The service works, but a part of it does not.",
    next: "See the checks below: each names its cause.",
    tone: "wait",
  },
  stopped: {
    label: "stopped",
    sentence: "The service processes no work.",
    next: "See the checks below: each names its cause.",
    tone: "bad",
  },
  unknown: { label: "unknown", sentence: "It has not been checked yet.", next: "", tone: "idle" },
  unconfigured: {
    label: "not set up",
    sentence: "It has no configuration.",
    next: "Set it up, if you want to use it.",
    tone: "idle",
  },
};

export const meaningOf = (state: string): Meaning =>
  Object.hasOwn(states, state)
    ? (states[state] as Meaning)
    : { label: state.replaceAll("_", " "), sentence: "", next: "", tone: "idle" };

/** Why a delivery started nothing, found by words of its reason, and how to change that. `page`: the page to do it on. */
export interface Remedy {
  readonly when: RegExp;
  readonly sentence: string;
  readonly next: string;
  readonly page: string | null;
  readonly button: string | null;
}

const remedies: readonly Remedy[] = [
  {
    when: /own (account|comment|edit)|marker|loop|itself/i,
    sentence: "Signalbox caused this event itself.",
    next: "Nothing to do: reacting to its own comments would never end.",
    page: null,
    button: null,
  },
  {
    when: /no (source event )?mapping|not mapped|no trigger|maps? to no trigger|unmapped/i,
    sentence: "No rule turns this event into a trigger.",
    next: "Add a source event mapping for it, then replay the delivery.",
    page: "routing",
    button: "Open routing",
  },
  {
    when: /no task|fires no/i,
    sentence: "The trigger is known, but no task is mapped to it.",
    next: "Map a task to the trigger, then replay the delivery.",
    page: "routing",
    button: "Open routing",
  },
  {
    when: /bot|standing|author|app\b/i,
    sentence: "The policy does not let this author start runs.",
    next: "Allow the author in the policy of the agent or project, then replay the delivery.",
    page: "agents",
    button: "Open agents",
  },
  {
    when: /filter|condition|did not match/i,
    sentence: "A condition of the webhook mapping is not met.",
    next: "Paste the payload under Routing to see which one.",
    page: "routing",
    button: "Open routing",
  },
  {
    when: /signature|secret|token|unauth/i,
    sentence: "The sender could not be authenticated.",
    next: "Compare the secret at the tracker with that of the connection.",
    page: "connections",
    button: "Open connections",
  },
  {
    when: /plugin/i,
    sentence: "The plugin failed to read this event.",
    next: "See the plugin's log, then replay the delivery.",
    page: "plugins",
    button: "Open plugins",
  },
];

export const remedyOf = (reason: string | null): Remedy | null =>
  reason === null ? null : (remedies.find(({ when }) => when.test(reason)) ?? null);

/** How to fix a failed run, found by words of its error. */
const failures: readonly Remedy[] = [
  {
    when: /no LLM|LLM_BASE_URL|model.*not configured/i,
    sentence: "No model is connected.",
    next: "Connect a model, then restart the run.",
    page: "connections",
    button: "Connect a model",
  },
  {
    when: /LLM|model|proxy/i,
    sentence: "The model returned an error.",
    next: "Check the address, the key and the model's name, then restart the run.",
    page: "connections",
    button: "Check the model",
  },
  {
    when: /40[13]|token|permission|credential|not allowed|forbidden|unauthorized/i,
    sentence: "The tracker refused the account that Signalbox uses.",
    next: "Give the token write permission on issues, then restart the run.",
    page: "connections",
    button: "Check the connection",
  },
  {
    when: /ECONN|ENOTFOUND|timeout|timed out|unavailable|50[0-9]/i,
    sentence: "The other side did not answer.",
    next: "Check that it is up, then restart the run.",
    page: "connections",
    button: "Check the connections",
  },
];

export const failureOf = (error: string | null): Remedy | null =>
  error === null ? null : (failures.find(({ when }) => when.test(error)) ?? null);
