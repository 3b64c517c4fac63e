import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as live from "@signalbox/schema/live";
import type { z } from "zod";
import { toSecond, withoutControlCharacters } from "./output.ts";
import { IncompleteResponse, namedService, RequestError, request } from "./request.ts";
import type { Terminal } from "./terminal.ts";

type Change = z.output<typeof live.liveChange>;
const endedStates = ["succeeded", "failed", "cancelled"];
const maxShown = 10_000;

/**
 * Prints the changes of an execution until it has ended, or of all executions until the command is interrupted, one line for each
 * change. `pauseMs`: between an error and the next attempt.
 */
export async function follow(id: string | undefined, json: boolean, terminal: Terminal, pauseMs: number = 2_000): Promise<void> {
  const op = id === undefined ? live.ofService : live.ofExecution;
  const executionNames = new Map<string, string>();
  // The last change of each execution and step: the next stream begins with some that this one contained.
  const shownChanges = new Map<string, string>();
  const isShown = (change: Change, data: string) => {
    const key = `${change.execution_id} ${change.step?.seq ?? ""}`;
    const hash = createHash("sha256").update(data).digest("base64");
    if (shownChanges.get(key) === hash) return true;
    shownChanges.delete(key);
    shownChanges.set(key, hash);
    if (shownChanges.size > maxShown) shownChanges.delete(shownChanges.keys().next().value as string);
    return false;
  };
  let lastEventId: string | undefined;
  let isOver = false;
  let rest = "";
  let hasFollowed = false;
  // Why the stream ended, unless it just reached its time limit.
  let failure: string | undefined;
  let isReported = false;
  const write = (chunk: string) => {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      lastEventId = fieldOf(block, "id") ?? lastEventId;
      const data = fieldOf(block, "data");
      if (data !== undefined && fieldOf(block, "event") === "error") {
        failure = (JSON.parse(data) as { readonly error: string }).error;
        continue;
      }
      // A silent stream contains comments.
      if (data !== undefined || block.startsWith(":")) [failure, isReported] = [undefined, false];
      if (data === undefined) continue;
      const change = JSON.parse(data) as Change;
      if (isShown(change, data)) continue;
      if (id !== undefined && change.execution && endedStates.includes(change.execution.state)) isOver = true;
      terminal.out(`${withoutControlCharacters(json ? data : lineOf(change, executionNames, id)).replaceAll("\n", " ")}\n`);
    }
  };
  if (!json && id === undefined) terminal.err("Following all executions. Press Ctrl-C to stop.\n");
  // A stream ends after some minutes; the next one continues after its last event.
  for (;;) {
    rest = "";
    failure = "it contained no event";
    try {
      await request(op, id === undefined ? {} : { id }, { ...namedService(), lastEventId }, write);
      hasFollowed = true;
    } catch (error) {
      hasFollowed ||= error instanceof IncompleteResponse;
      if (!(error instanceof RequestError && hasFollowed && isTemporary(error))) throw error;
      failure = error.message;
    }
    if (isOver) return;
    if (failure === undefined) continue;
    if (!isReported) terminal.err(`The stream ended (${firstSentence(failure)}); reconnecting.\n`);
    isReported = true;
    await sleep(pauseMs);
  }
}

/** Whether the next attempt can succeed: the service restarts behind a proxy or without one, or has too many requests. */
const isTemporary = ({ status }: RequestError): boolean => status === undefined || [429, 502, 503, 504].includes(status);

const firstSentence = (text: string): string =>
  withoutControlCharacters(text)
    .replace(/\.(?:\s.*)?$/s, "")
    .replaceAll("\n", " ");

/** The field of an event. Only LF ends its line: JSON may contain other line separators. */
const fieldOf = (block: string, name: string): string | undefined =>
  block
    .split("\n")
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .replace(/^ /, "");

/**
 * A line about a change. `executionNames`: the names so far, by id; this function adds to them. `followedId`: the execution that is followed, which
 * the lines of its steps do not repeat.
 */
function lineOf(
  { execution_id: id, execution, step }: Change,
  executionNames: Map<string, string>,
  followedId: string | undefined,
): string {
  if (execution) {
    executionNames.delete(id);
    executionNames.set(id, `${execution.subject ?? execution.source} ${execution.task_id}`);
    if (executionNames.size > 1_000) executionNames.delete(executionNames.keys().next().value as string);
  }
  const executionName = executionNames.get(id) ?? `execution ${id}`;
  const prefix = id === followedId ? "" : `${executionName}: `;
  if (!step) {
    const { state, waiting_for, error, result_url, created_at, started_at, finished_at } = execution as NonNullable<
      typeof execution
    >;
    const detail = waiting_for ?? error ?? result_url;
    return `${toSecond(finished_at ?? started_at ?? created_at)} ${executionName}: ${state}${detail ? `: ${detail}` : ""}`;
  }
  const { kind, name, state, error, started_at, ended_at, created_at } = step;
  const what = [kind, name].filter(Boolean).join(" ");
  // A step that the next attempt continues keeps the state `started`.
  const shown = error && state === "started" ? "failed" : state;
  return `${toSecond(ended_at ?? started_at ?? created_at)} ${prefix}${what} ${shown}${error ? `: ${error}` : ""}`;
}
