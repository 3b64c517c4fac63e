import type { NewComment } from "@signalbox/sdk";
import type { Outbox } from "../../outbox/open.ts";
import type { Sql } from "../../platform/database/client.ts";
import { sha256Of } from "../../platform/digest.ts";
import { newId } from "../../platform/ids.ts";
import type { Report } from "../../platform/log.ts";
import type { Connection } from "../../plugins/connections.ts";
import { correctLiving, recheckDelaysMs, warnOfLateWrites } from "../living-comment/correct-living.ts";
import { findAnswer, type LivingComment } from "../living-comment/queries.ts";
import { type LivingChange, writeLiving } from "../living-comment/write-living.ts";
import { windowMsOf } from "../write-window.ts";
import { isCurrent, type Sign } from "./queries.ts";

/** How often a comment about running work is updated, milliseconds. */
const updateEveryMs = 5_000;

/** What the comment shows, and when to check again, milliseconds. */
export interface LivingDisplay {
  readonly text: string;
  readonly againMs: number;
  /** Number of checks whether the comment still shows this; `null` if no check is needed. */
  readonly looks: number | null;
}

interface ShowOptions {
  readonly sql: Sql;
  readonly outbox: Outbox;
  readonly leaseSeconds: number;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
}

/**
 * Edits the living comment of an agent to show the progress or the end of its execution. The run itself posts the answer.
 * Returns `null` if there is nothing to look for again.
 */
export async function showLiving(
  sign: Sign,
  connection: Connection,
  signal: AbortSignal,
  { sql, outbox, leaseSeconds, warn }: ShowOptions,
): Promise<LivingDisplay | null> {
  const { project, issue, subject, place } = sign;
  if (sign.sign === "done" || project === null || issue === null || subject === null) return null;
  // The reason of a failure may quote anything, including a secret.
  const text = outbox.of({ ...sign, id: sign.execution_id, event_id: null }, sign.agent_id).withoutSecrets(textOf(sign));
  const goesOn = sign.sign === "working" && sign.state === "running";
  if (goesOn && text === sign.shown) return { text, againMs: updateEveryMs, looks: null };
  const post: NewComment = {
    subject: { project, issue },
    body: text,
    ...(place?.private && { private: true }),
    ...(place?.thread && { thread: place.thread }),
  };
  const digest = sha256Of(text).slice(0, 12);
  const key = `${sign.execution_id}.p${sign.version}.${digest}`;
  const write = {
    sql,
    connection,
    subject,
    agentId: sign.agent_id,
    executionId: sign.execution_id,
    key,
    decide: (found: LivingComment) => changeFor(sign, post, found, { connection, sql }),
    post,
    windowMs: windowMsOf(leaseSeconds),
  };
  // It was shown, and an earlier write may still arrive.
  if (!goesOn && sign.looks !== null && text === sign.shown) {
    const looks = sign.looks + 1;
    const againMs = recheckDelaysMs[looks];
    const isShown = (found: LivingComment) => found.key === key || (found.key?.startsWith(`${key}.`) ?? false);
    const correction = { ...write, key: `${key}.${newId()}`, firstKey: key, isShown, isLastCheck: againMs === undefined };
    const result = await correctLiving(correction, signal);
    warnOfLateWrites(result, { execution_id: sign.execution_id, write: sign.source }, warn);
    return againMs === undefined ? null : { text, againMs, looks };
  }
  let isInDoubt = false as boolean;
  const onLost = () => {
    isInDoubt = true;
  };
  await writeLiving({ ...write, purpose: "progress", onLost }, signal);
  if (goesOn) return { text, againMs: updateEveryMs, looks: null };
  const [againMs = 0] = recheckDelaysMs;
  return isInDoubt ? { text, againMs, looks: 0 } : null;
}

async function changeFor(
  sign: Sign,
  post: NewComment,
  livingComment: LivingComment,
  { connection, sql }: { readonly connection: Connection; readonly sql: Sql },
): Promise<LivingChange> {
  const leave = { kind: "leave" } as const;
  const show = (text: NewComment) => ({ kind: "show", text }) as const;
  // Only one writer at a time has the comment. While this one waited for it, its execution and a later one may have answered.
  if (!(await isCurrent(sql, sign))) return leave;
  if (livingComment.answered_by === sign.execution_id) {
    // The answer is posted or about to be posted. If it could not be written, the failure is shown.
    const isLost = sign.sign === "failed" && (await findAnswer(sql, sign.execution_id)) === null;
    return isLost ? show(post) : leave;
  }
  if (sign.sign !== null) return show(post);
  if (livingComment.comment_id === null) return leave;
  // Cancelled: show the previous content again.
  const earlier = livingComment.answered_by === null ? null : await findAnswer(sql, livingComment.answered_by);
  if (earlier !== null) return show({ ...post, body: earlier });
  return connection.source.adapter.retract ? { kind: "remove" } : show(post);
}

/** Maximum number of tool names shown. */
const maxTools = 10;

function textOf({ sign, state, agent_name, agent_id, tools, error, waiting_for }: Sign): string {
  const name = `**${plain(agent_name ?? agent_id ?? "The agent")}**`;
  if (sign === "failed") return `😕 ${name} could not finish this: ${code(withoutAddresses(error ?? "reason unknown"))}`;
  if (sign === null) return `${name} was stopped.`;
  if (state === "waiting") return `⏸️ ${name} is waiting for ${code(waiting_for ?? "approval")}.`;
  const done = tools.slice(-maxTools).map((tool) => `- ${code(tool)}`);
  return [`👀 ${name} is working on this.`, ...(done.length > 0 ? ["", ...done] : [])].join("\n");
}

const addresses = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>)\]]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /(?:\[[0-9a-f]*:[0-9a-f:.]*\]|(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:]))(?::\d{1,5})?/gi,
  /(?<=\bE[A-Z_]{4,20} )[\w.-]+(?::\d{1,5})?/g,
  /\blocalhost(?::\d{1,5})?\b/gi,
  // Begins only at the first label of a name: the rest is not read again for each label.
  /(?<![a-z0-9-]\.?)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|localdomain|lan|corp|intranet|svc|cluster\.local)(?::\d{1,5})?\b/gi,
];

/** Everyone at the issue may read why an agent failed, but not the names of internal hosts. */
export const withoutAddresses = (text: string): string => addresses.reduce((safe, one) => safe.replace(one, "[address]"), text);

/** A reason may quote anything; in a code span, markup and mentions have no effect. */
const code = (text: string): string => `\`${text.replace(/[`\s]+/g, (run) => (run.includes("`") ? "'" : " ")).slice(0, 500)}\``;
const plain = (text: string): string => text.replace(/[^\p{L}\p{N} .,()-]+/gu, " ").slice(0, 100);
