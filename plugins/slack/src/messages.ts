import { type CloudEvent, type Json, sanitizeText, stringAt, truncate, valueAt } from "@signalbox/sdk";
import type { Config } from "./config.ts";

/** A write that waits for approval, with all that it would write. */
interface Proposal {
  readonly id: string;
  readonly text: string;
}
/** The writes that a message shows, each of them whole, and the number of those that it has no room for. */
interface Proposals {
  readonly shown: readonly Proposal[];
  readonly others: number;
}
export const noProposals: Proposals = { shown: [], others: 0 };
export interface Message {
  readonly text: string;
  readonly blocks: readonly Json[];
}
const kinds = ["waiting", "held", "failed", "succeeded", "cancelled"] as const;
export type Kind = (typeof kinds)[number];
const signs: Readonly<Record<Kind, string>> = {
  waiting: ":raised_hand:",
  held: ":double_vertical_bar:",
  failed: ":x:",
  succeeded: ":white_check_mark:",
  cancelled: ":no_entry_sign:",
};
const words: Readonly<Record<Kind, string>> = {
  waiting: "waits for approval",
  held: "is held",
  failed: "failed",
  succeeded: "succeeded",
  cancelled: "was cancelled",
};

/** The execution in a message of the host; `null` for a received event. */
export function kindOf({ type }: CloudEvent): Kind | null {
  const kind = /^dev\.signalbox\.execution\.(\w+)$/.exec(type)?.[1];
  return kinds.find((one) => one === kind) ?? null;
}

/** External text without the characters that Slack uses for mentions and links. */
const escapeMrkdwn = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const plain = (text: string, limit: number): string => truncate(sanitizeText(text).replace(/\s+/g, " ").trim(), limit);

/** The execution is about something that not everyone in its project can see, and the channel may have other members. */
export const isPrivate = ({ data }: CloudEvent): boolean => valueAt(data, "private") === true;
const privateNotice = "The run is private, so its content is not shown here. See it in the console.";

export const executionOf = ({ data }: CloudEvent): string | null => stringAt(data, ["execution_id"], 100);

/** The URL of the service, whose console is at `/` and at `/console`. */
const serviceOf = (consoleUrl: string): string => consoleUrl.replace(/(?:\/console)?\/*$/, "");

/** One line about an execution, in mrkdwn. */
export function lineOf(event: CloudEvent, kind: Kind, { console_url }: Config): string {
  const task = escapeMrkdwn(plain(stringAt(event.data, ["task_id"], 200) ?? "a task", 100));
  const subject = escapeMrkdwn(plain(event.subject ?? "", 200));
  const id = executionOf(event);
  const link = /^https?:\/\/[^\s<>|]+$/.test(console_url) && id ? ` · <${serviceOf(console_url)}/console/run/${id}|run>` : "";
  const url = stringAt(event.data, ["result_url"], 2000);
  const answer = url && /^https?:\/\/[^\s<>|]+$/.test(url) ? ` · <${url}|answer>` : "";
  return `${signs[kind]} *${task}* ${words[kind]}${subject ? ` on ${subject}` : ""}${answer}${link}`;
}

/** Several executions that succeeded or were cancelled, in one message. */
export function digestOf(lines: readonly string[]): Message {
  return { text: `${lines.length} runs finished`, blocks: joined(lines).map(section) };
}

/** One execution that needs attention, with what can be done about it. */
export function messageOf(event: CloudEvent, kind: Kind, config: Config, { shown, others }: Proposals): Message {
  const line = lineOf(event, kind, config);
  const reason = [["error"], ["held_reason"]].map((path) => stringAt(event.data, path, 2000)).find((text) => text !== null);
  const detail = isPrivate(event) ? privateNotice : reason;
  return {
    text: `${plain(stringAt(event.data, ["task_id"], 200) ?? "A task", 100)} ${words[kind]}`,
    blocks: [
      section(line),
      ...(detail ? quoteBlocks(detail) : []),
      ...shown.flatMap(({ text }, at) => quoteBlocks(`${at + 1}. ${text}`)),
      ...(others > 0 ? [section(othersNotice(shown.length, others))] : []),
      ...buttonsFor(event, kind, shown),
    ],
  };
}

function othersNotice(shown: number, others: number): string {
  const which = `${others} ${shown > 0 ? "more " : ""}${others === 1 ? "write is" : "writes are"}`;
  const scope = shown > 0 ? "_Approve_ does not cover the rest" : "They cannot be approved in Slack";
  return `${which} not shown here. ${scope}: decide in the console.`;
}

/** Slack refuses longer blocks. */
const maxBlockLength = 3_000;
const section = (text: string): Json => ({ type: "section", text: { type: "mrkdwn", text: truncate(text, maxBlockLength) } });
/** Plain text: nothing in it is a mention, a link or a format. */
const quoteBlocks = (text: string): Json[] =>
  parts(sanitizeText(text)).map((part) => ({ type: "section", text: { type: "plain_text", text: part, emoji: false } }));

/** The lines, as many in one text as a block has room for. */
function joined(lines: readonly string[]): string[] {
  const texts: string[] = [];
  for (const line of lines) {
    const text = texts.length > 0 ? `${texts.at(-1)}\n${line}` : line;
    if (text.length > maxBlockLength) texts.push(line);
    else texts.splice(-1, 1, text);
  }
  return texts;
}

function parts(text: string): string[] {
  const first = truncate(text, maxBlockLength);
  return first.length === text.length ? [first] : [first, ...parts(text.slice(first.length))];
}

const labels = { approve: "Approve", reject: "Reject", release: "Release", stop: "Stop" } as const;
export type Action = keyof typeof labels;
export const actionNamed = (id: string): Action | null =>
  (Object.keys(labels) as Action[]).find((action) => `signalbox_${action}` === id) ?? null;

function buttonsFor(event: CloudEvent, kind: Kind, proposals: readonly Proposal[]): Json[] {
  const execution = executionOf(event);
  if (execution === null || (kind !== "waiting" && kind !== "held")) return [];
  // What was shown is what is approved. Without its list, nothing can be.
  const actions: Action[] = kind === "held" ? ["release", "stop"] : proposals.length > 0 ? ["approve", "reject"] : ["stop"];
  const value = JSON.stringify({ execution, ...(proposals.length > 0 && { proposals: proposals.map(({ id }) => id) }) });
  const elements = actions.map(
    (action): Json => ({
      type: "button",
      action_id: `signalbox_${action}`,
      value,
      text: { type: "plain_text", text: labels[action] },
      ...(action === "approve" && { style: "primary" }),
      ...((action === "reject" || action === "stop") && { style: "danger" }),
    }),
  );
  return [{ type: "actions", block_id: "signalbox_actions", elements }];
}

/** At most this many ids fit into the value of a button. */
const maxShown = 20;
/** Slack refuses a message of more than about 13,000 characters. */
const maxShownLength = 9_000;

/** The waiting proposals of an execution, as `task-executions.get` returns them: the first ones, as far as a message can show them. */
export function proposalsIn(execution: unknown): Proposals {
  const all = valueAt(execution, "proposals");
  const waiting = (Array.isArray(all) ? all : []).filter(
    (one) => valueAt(one, "state") === "proposed" && (valueAt(one, "decided_at") ?? null) === null,
  );
  const shown: Proposal[] = [];
  let leftLength = maxShownLength;
  for (const one of waiting.slice(0, maxShown)) {
    const proposal = wholeProposal(one);
    if (proposal === null || proposal.text.length > leftLength) break;
    leftLength -= proposal.text.length;
    shown.push(proposal);
  }
  return { shown, others: waiting.length - shown.length };
}

/** `null` if its text or parameters cannot be read. */
function wholeProposal(one: unknown): Proposal | null {
  const [id, tool, target, body, parameters] = ["id", "tool", "target", "body", "parameters"].map((name) => valueAt(one, name));
  const what = typeof body === "string" ? body : parameters && JSON.stringify(parameters);
  if (typeof id !== "string" || typeof what !== "string") return null;
  return { id, text: `${tool ?? "comment"}${target ? ` → ${target}` : ""}: ${what.trim()}` };
}
