import type { EventOutcome, TaskExecutionState } from "../../../schema/gen/client.ts";

/** How loud a state is shown. */
export type Tone = "good" | "bad" | "busy" | "wait" | "idle";

export interface StateText {
  /** In place of the state's name. */
  readonly label?: string;
  /** What it means, in one sentence. */
  readonly sentence: string;
  /** What to do next, in one sentence. */
  readonly next: string;
  readonly tone: Tone;
}

export const runs: Readonly<Record<TaskExecutionState, StateText>> = {
  queued: {
    sentence: "The run waits for its turn.",
    next: "Nothing to do: it starts by itself. If it stays queued, see under Now whether something is paused.",
    tone: "wait",
  },
  held: {
    sentence: "The run would exceed a limit of the policy, so it has not begun.",
    next: "Release it to run it once anyway, or raise the limit that the reason names.",
    tone: "wait",
  },
  running: { sentence: "The agent works on it now.", next: "Watch the steps as they happen, or cancel the run.", tone: "busy" },
  waiting: {
    sentence: "The run continues after a decision.",
    next: "Read what the agent proposes, then approve or reject it.",
    tone: "wait",
  },
  succeeded: {
    sentence: "The agent has answered, and the answer is posted.",
    next: "Read the answer, or try another prompt as a dry run.",
    tone: "good",
  },
  failed: {
    sentence: "The run ended with an error and is not tried again by itself.",
    next: "Fix what the error names, then restart the run: it resumes after its last finished step.",
    tone: "bad",
  },
  cancelled: {
    sentence: "The run was cancelled and posts nothing.",
    next: "Replay its delivery to do the work after all.",
    tone: "idle",
  },
};

export const deliveries: Readonly<Record<EventOutcome, StateText>> = {
  dispatched: {
    sentence: "The delivery fired a trigger, and its tasks were queued.",
    next: "See its runs for the results.",
    tone: "good",
  },
  discarded: {
    sentence: "The delivery was understood and stored, and starts nothing.",
    next: "Read the reason. After a change of the routing, replay the delivery.",
    tone: "idle",
  },
  refused: {
    sentence: "The delivery was refused, and its body was not stored.",
    next: "Fix what the reason names, then let the tracker send it again.",
    tone: "bad",
  },
};

/** What a reason or an error means, by its words, and what fixes it. */
export interface Remedy {
  readonly when: RegExp;
  readonly sentence: string;
  readonly next: string;
  /** The page of the console that helps, and the words of the link to it. */
  readonly open?: readonly [page: string, words: string];
}

const routing = ["routing", "Open routing"] as const;
const connections = ["connections", "Open connections"] as const;
const settings = ["settings/configuration", "Open the settings"] as const;
const sentAgain = "then let the tracker send the delivery again.";

/** Why a delivery starts nothing or was refused. The first that matches counts. */
export const reasons: readonly Remedy[] = [
  {
    when: /account that Signalbox posts as|marker of a comment that Signalbox|change that Signalbox made/,
    sentence: "Signalbox caused this event itself.",
    next: "Nothing to do: if it reacted to its own comments, it would never end.",
  },
  {
    when: /^the (payload|request) is missing/,
    sentence: "The webhook is missing a part that Signalbox needs.",
    next: "Compare the payload and the headers of the delivery with what the tracker sends, and check whether its version is supported.",
  },
  {
    when: /^no source event mapping/,
    sentence: "No mapping turns this event into a trigger.",
    next: "Map the event to a trigger, then replay the delivery.",
    open: routing,
  },
  {
    when: /^no task is mapped|to which .* is mapped, does not exist/,
    sentence: "The trigger has no task.",
    next: "Map a task to the trigger, then replay the delivery.",
    open: routing,
  },
  {
    when: /which the mapping of .* requires|min_standing in the mapping/,
    sentence: "The event does not meet a condition of the mapping.",
    next: "Nothing to do if that is intended. Otherwise change the mapping, then replay the delivery.",
    open: routing,
  },
  {
    when: /is (a bot|an app), and .* does not name it/,
    sentence: "Bots and apps start runs only if the policy names them.",
    next: "Nothing to do if that is intended. Otherwise add it where the reason says, then replay the delivery.",
    open: settings,
  },
  {
    when: /has the standing .* requires at least/,
    sentence: "The author's role in the project is too low to start runs.",
    next: "Replay the delivery to run it once anyway, or require less where the reason says.",
    open: settings,
  },
  {
    when: /^\/\w+ waits for the standing/,
    sentence: "The role of the command's author is being looked up.",
    next: "Nothing to do: the command is carried out or refused within a minute.",
  },
  {
    when: /^\/\w+ requires the standing/,
    sentence: "The author is not allowed to give this command.",
    next: "Let a collaborator repeat the command, or decide on the page of the run.",
  },
  {
    when: /no webhook mapping at this path|extraction rule/,
    sentence: "The webhook mapping of this path does not fit the payload.",
    next: "Correct the mapping's filter or rules over the API, then replay the delivery.",
  },
  {
    when: /failed to parse the payload|plugin .* (was not running|cannot verify)/,
    sentence: "The plugin of the source could not read this event.",
    next: "See the plugin's state and log, then replay the delivery.",
    open: ["plugins", "Open plugins"],
  },
  {
    when: /does not match the body|does not contain the secret|authentication failed/,
    sentence: "The secret at the tracker differs from the one here.",
    next: `Enter the same secret in both places, ${sentAgain}`,
    open: connections,
  },
  {
    when: /[Hh]eader .* must |missing header/,
    sentence: "The delivery is not signed in the way that this connection requires.",
    next: `Set the webhook secret at the tracker, ${sentAgain}`,
    open: connections,
  },
  {
    when: /address .* is not (in the allowlist|known)/,
    sentence: "The sender's address is not in the allowlist of the webhook mapping.",
    next: `Add the address to the mapping over the API, ${sentAgain}`,
  },
  {
    when: /^There is no webhook/,
    sentence: "No connection has this address.",
    next: `Copy the webhook URL of the connection to the tracker, ${sentAgain}`,
    open: connections,
  },
  {
    when: /larger than|did not arrive|JSON|nest|too (deep|large|many)/,
    sentence: "The body of the delivery could not be read.",
    next: `Check what the tracker sends, and the limits under Settings, ${sentAgain}`,
    open: settings,
  },
];

const restart = "then restart the run.";
const connectModel = ["connections", "Connect a model"] as const;
const model = ["connections", "Check the model"] as const;

/** Why a run failed. The first that matches counts. */
export const failures: readonly Remedy[] = [
  { when: /No LLM is configured/, sentence: "No model is connected.", next: `Connect one, ${restart}`, open: connectModel },
  {
    when: /^The model refused to answer|content filter|no visible text/,
    sentence: "The model gave no usable answer.",
    next: `Try another prompt or model as a dry run on the page of the run, change the agent, ${restart}`,
    open: ["agents", "Open agents"],
  },
  { when: / tool calls/, sentence: "The model asked for too many tool calls at once.", next: `Change its prompt, ${restart}` },
  {
    when: /LLM answered 40[13]/,
    sentence: "The model's API refused the key.",
    next: `Correct LLM_API_KEY, restart the service, ${restart}`,
    open: model,
  },
  {
    when: /LLM (did not answer|could not be reached|answered (429|5))/,
    sentence: "The model's API was not available.",
    next: `Check that it works and how fast it answers, ${restart}`,
    open: model,
  },
  {
    when: /LLM|embedding model/,
    sentence: "The model's API did not answer as expected.",
    next: `Check the address and the name of the model, ${restart}`,
    open: model,
  },
  { when: /worker crashed/, sentence: "The service ended while it ran this.", next: `See its log for the cause, ${restart}` },
  {
    when: /^The (task|agent) ".*" (no longer|does not) exist/,
    sentence: "The task or its agent was deleted.",
    next: `Create it again, or give the task another agent, ${restart}`,
    open: ["agents", "Open agents"],
  },
  {
    when: /answered 40[13]|permission|credential|forbidden|unauthorized|^missing [A-Z]/i,
    sentence: "The tracker refused the account that Signalbox uses.",
    next: `Give the token write permission on issues, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  {
    when: /answered 4(04|10|22)/,
    sentence: "The tracker does not find the issue, or does not accept the text.",
    next: `Check at the tracker that the issue exists and is open to the account, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  { when: /be unpacked/, sentence: "The run's stored text is damaged.", next: "Check the database, then replay the delivery." },
  {
    when: /could not be written/,
    sentence: "The tracker did not accept a write of the run.",
    next: `Read what it answered, fix that, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  { when: /^The (tool's endpoint|MCP server)/, sentence: "A tool failed.", next: `Check its server, ${restart}` },
  {
    when: /ECONN|ENOTFOUND|timeout|timed out|unavailable|could not be reached|did not answer|answered (429|5\d\d)/i,
    sentence: "The remote service did not answer.",
    next: `Check that it works, ${restart}`,
    open: ["connections", "Check the connections"],
  },
];

const remedyIn = (all: readonly Remedy[], text: string | null): Remedy | null =>
  text === null ? null : (all.find(({ when }) => when.test(text)) ?? null);

export const remedyOf = (reason: string | null): Remedy | null => remedyIn(reasons, reason);
export const failureOf = (error: string | null): Remedy | null => remedyIn(failures, error);
