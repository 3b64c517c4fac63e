/** What a reason or an error means, by its words, and what fixes it. */
export interface Remedy {
  readonly when: RegExp;
  readonly sentence: string;
  readonly next: string;
  /** The page of the console that helps, and the text of the link to it. */
  readonly open?: readonly [page: string, words: string];
}

const routing = ["routing", "Open routing"] as const;
const connections = ["connections", "Open connections"] as const;
const settings = ["settings/configuration", "Open settings"] as const;
const sentAgain = "then redeliver the webhook from the tracker.";

/** Why a delivery starts nothing or was refused. The first that matches counts. */
export const reasons: readonly Remedy[] = [
  {
    when: /account that Signalbox posts as|marker of a comment that Signalbox|change that Signalbox made/,
    sentence: "Signalbox caused this event itself.",
    next: "Nothing to do. Signalbox ignores its own changes to avoid endless loops.",
  },
  {
    when: /^the (payload|request) is missing/,
    sentence: "The webhook is missing data that Signalbox needs.",
    next: "Compare the delivery's payload and headers with what the tracker sends, and check that the tracker's version is supported.",
  },
  {
    when: /^no source event mapping/,
    sentence: "No mapping turns this event into a trigger.",
    next: "Map the event to a trigger, then replay the delivery.",
    open: routing,
  },
  {
    when: /to which .* is mapped, does not exist/,
    sentence: "The task that the trigger is mapped to does not exist.",
    next: "Create the task or change the mapping, then replay the delivery.",
    open: routing,
  },
  {
    when: /^no task is mapped/,
    sentence: "No task is mapped to the trigger.",
    next: "Map a task to the trigger, then replay the delivery.",
    open: routing,
  },
  {
    when: /which the mapping of .* requires|min_standing in the mapping/,
    sentence: "The event does not meet one of the mapping's conditions.",
    next: "If this is not intended, change the mapping, then replay the delivery.",
    open: routing,
  },
  {
    when: /is (a bot|an app), and .* does not name it/,
    sentence: "Bots and apps can start runs only if the policy lists them.",
    next: "To allow this one, add it to the list named in the reason, then replay the delivery.",
    open: settings,
  },
  {
    when: /has the standing .* requires at least/,
    sentence: "The author's role in the project is too low to start runs.",
    next: "Replay the delivery to run it once anyway, or lower the requirement named in the reason.",
    open: settings,
  },
  {
    when: /^\/\w+ (?:waits for the (?:standing|key)|by .*; its issue is being looked up)/,
    sentence: "The command's issue or its author's role is being looked up.",
    next: "Wait a minute. If the command still waits after some minutes, write it again.",
  },
  {
    when: /^\/\w+ .*its issue could not be looked up/,
    sentence: "The platform did not return the issue of this command.",
    next: "Check the account on the Connections page, then write the command again.",
  },
  {
    when: /^\/\w+ was not carried out, because/,
    sentence: "The command could not be carried out.",
    next: "Fix what the reason names, then write the command again.",
  },
  {
    when: /^\/\w+ requires the standing/,
    sentence: "The author is not allowed to use this command.",
    next: "Ask a collaborator to repeat the command, or decide on the run's page.",
  },
  {
    when: /no webhook mapping at this path|extraction rule/,
    sentence: "The webhook mapping for this path does not match the payload.",
    next: "Fix the mapping's filter or rules through the API, then replay the delivery.",
  },
  {
    when: /failed to parse the payload|plugin .* (was not running|cannot verify)/,
    sentence: "The source's plugin could not read this event.",
    next: "Check the plugin's state and log, then replay the delivery.",
    open: ["plugins", "Open plugins"],
  },
  {
    when: /does not match the body|does not contain the secret|authentication failed/,
    sentence: "The tracker's webhook secret does not match the one here.",
    next: `Set the same secret in both places, ${sentAgain}`,
    open: connections,
  },
  {
    when: /[Hh]eader .* must |missing header/,
    sentence: "The delivery is not signed the way this connection requires.",
    next: `Set the webhook secret in the tracker, ${sentAgain}`,
    open: connections,
  },
  {
    when: /address .* is not (in the allowlist|known)/,
    sentence: "The sender's address is not in the webhook mapping's allowlist.",
    next: `Add the address to the mapping through the API, ${sentAgain}`,
  },
  {
    when: /^There is no webhook/,
    sentence: "No connection uses this address.",
    next: `Copy the connection's webhook URL to the tracker, ${sentAgain}`,
    open: connections,
  },
  {
    when: /larger than|did not arrive|JSON|nest|too (deep|large|many)/,
    sentence: "The delivery's body could not be read.",
    next: `Check what the tracker sends and the limits under Settings, ${sentAgain}`,
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
    sentence: "The model returned no usable answer.",
    next: `Try another prompt or model as a dry run on the run's page, change the agent, ${restart}`,
    open: ["agents", "Open agents"],
  },
  { when: / tool calls/, sentence: "The model requested too many tool calls at once.", next: `Change the prompt, ${restart}` },
  {
    when: /LLM answered 40[13]/,
    sentence: "The model's API rejected the key.",
    next: `Correct LLM_API_KEY, restart the service, ${restart}`,
    open: model,
  },
  {
    when: /LLM (did not answer|could not be reached|answered (429|5))/,
    sentence: "The model's API was unavailable.",
    next: `Check that it is up and how fast it responds, ${restart}`,
    open: model,
  },
  {
    when: /LLM|embedding model/,
    sentence: "The model's API returned an unexpected response.",
    next: `Check the model's address and name, ${restart}`,
    open: model,
  },
  { when: /worker crashed/, sentence: "The service stopped during this run.", next: `Check its log for the cause, ${restart}` },
  {
    when: /^The (task|agent) ".*" (no longer|does not) exist/,
    sentence: "The task or its agent was deleted.",
    next: `Recreate it, or give the task another agent, ${restart}`,
    open: ["agents", "Open agents"],
  },
  {
    when: /answered 40[13]|permission|credential|forbidden|unauthorized|^missing [A-Z]/i,
    sentence: "The tracker rejected the account that Signalbox uses.",
    next: `Give the token write permission on issues, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  {
    when: /answered 4(04|10|22)/,
    sentence: "The tracker could not find the issue or did not accept the text.",
    next: `Check that the issue exists and that the account can access it, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  { when: /be unpacked/, sentence: "The run's stored text is corrupted.", next: "Check the database, then replay the delivery." },
  {
    when: /could not be written/,
    sentence: "The tracker did not accept a write.",
    next: `Read its response, fix the cause, ${restart}`,
    open: ["connections", "Check the connection"],
  },
  { when: /^The (tool's endpoint|MCP server)/, sentence: "A tool failed.", next: `Check the tool's server, ${restart}` },
  {
    when: /ECONN|ENOTFOUND|timeout|timed out|unavailable|could not be reached|did not answer|answered (429|5\d\d)/i,
    sentence: "The remote service did not respond.",
    next: `Check that it is up, ${restart}`,
    open: ["connections", "Check the connections"],
  },
];

const remedyIn = (all: readonly Remedy[], text: string | null): Remedy | null =>
  text === null ? null : (all.find(({ when }) => when.test(text)) ?? null);

export const remedyOf = (reason: string | null): Remedy | null => remedyIn(reasons, reason);
export const failureOf = (error: string | null): Remedy | null => remedyIn(failures, error);
