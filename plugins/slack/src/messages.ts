import { type CloudEvent, type Json, sanitizeText, stringAt, truncate, valueAt } from "@signalbox/sdk";
import type { Config } from "./config.ts";

/** A write that waits for approval. */
interface Proposal {
  readonly id: string;
  readonly text: string;
}
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

/** One line about an execution, in mrkdwn. */
export function lineOf(event: CloudEvent, kind: Kind, { console_url }: Config): string {
  const task = escapeMrkdwn(plain(stringAt(event.data, ["task_id"], 200) ?? "a task", 100));
  const subject = escapeMrkdwn(plain(event.subject ?? "", 200));
  const id = executionOf(event);
  const link = /^https?:\/\/[^\s<>|]+$/.test(console_url) && id ? ` · <${console_url.replace(/\/+$/, "")}/#/runs/${id}|run>` : "";
  const url = stringAt(event.data, ["result_url"], 2000);
  const answer = url && /^https?:\/\/[^\s<>|]+$/.test(url) ? ` · <${url}|answer>` : "";
  return `${signs[kind]} *${task}* ${words[kind]}${subject ? ` on ${subject}` : ""}${answer}${link}`;
}

/** Several executions that succeeded or were cancelled, in one message. */
export function digestOf(lines: readonly string[]): Message {
  return { text: `${lines.length} runs finished`, blocks: [section(lines.join("\n"))] };
}

/** One execution that needs attention, with what can be done about it. */
export function messageOf(event: CloudEvent, kind: Kind, config: Config, proposals: readonly Proposal[]): Message {
  const line = lineOf(event, kind, config);
  const reason = [["error"], ["held_reason"]].map((path) => stringAt(event.data, path, 2000)).find((text) => text !== null);
  const detail = isPrivate(event) ? privateNotice : reason;
  const list = proposals.map(({ text }, at) => `${at + 1}. ${text}`).join("\n");
  return {
    text: `${plain(stringAt(event.data, ["task_id"], 200) ?? "A task", 100)} ${words[kind]}`,
    blocks: [
      section(line),
      ...(detail ? [quoteBlock(detail)] : []),
      ...(list ? [quoteBlock(list)] : []),
      ...buttonsFor(event, kind, proposals),
    ],
  };
}

const section = (text: string): Json => ({ type: "section", text: { type: "mrkdwn", text: truncate(text, 3000) } });
/** Plain text: nothing in it is a mention, a link or a format. */
const quoteBlock = (text: string): Json => ({
  type: "section",
  text: { type: "plain_text", text: truncate(sanitizeText(text), 2900), emoji: false },
});

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

/** The waiting proposals of an execution, as `task-executions.get` returns them. At most 20 fit into the value of a button. */
export function proposalsIn(execution: unknown): Proposal[] {
  const all = valueAt(execution, "proposals");
  if (!Array.isArray(all)) return [];
  const waiting = all.filter((one) => valueAt(one, "state") === "proposed" && (valueAt(one, "decided_at") ?? null) === null);
  return waiting.slice(0, 20).flatMap((one) => {
    const id = stringAt(one, ["id"], 100);
    const tool = stringAt(one, ["tool"], 200) ?? "comment";
    const target = stringAt(one, ["target"], 200);
    const what = stringAt(one, ["body"], 4000) ?? JSON.stringify(valueAt(one, "parameters") ?? {});
    return id === null ? [] : [{ id, text: `${tool}${target ? ` → ${target}` : ""}: ${plain(what, 300)}` }];
  });
}
