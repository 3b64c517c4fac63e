import { setTimeout as sleep } from "node:timers/promises";
import * as live from "@signalbox/schema/live";
import type { z } from "zod";
import { sha256Of } from "../platform/digest.ts";
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
  const service = namedService();
  const op = id === undefined ? live.ofService : live.ofExecution;
  const reader = new StreamReader(id, json, terminal);
  if (!json && id === undefined) terminal.err("Following all executions. Press Ctrl-C to stop.\n");
  let hasFollowed = false;
  // A stream ends after some minutes; the next one continues after its last event.
  for (;;) {
    reader.begin();
    try {
      const from = { ...service, lastEventId: reader.lastEventId };
      await request(op, id === undefined ? {} : { id }, from, (chunk) => reader.read(chunk));
      hasFollowed = true;
    } catch (error) {
      hasFollowed ||= error instanceof IncompleteResponse;
      if (!(error instanceof RequestError && hasFollowed && isTemporary(error))) throw error;
      reader.failure = error.message;
    }
    if (reader.isOver) return;
    if (reader.failure === undefined) continue;
    reader.reportFailure();
    await sleep(pauseMs);
  }
}

/** Reads the events of streams, each of which continues the one before, and prints the changes. */
class StreamReader {
  readonly #id: string | undefined;
  readonly #json: boolean;
  readonly #terminal: Terminal;
  readonly #executionNames = new Map<string, string>();
  /** The last change of each execution and step: the next stream begins with some that this one contained. */
  readonly #shownChanges = new Map<string, string>();
  #rest = "";
  #isReported = false;
  lastEventId: string | undefined;
  /** Whether the execution that is followed has ended. */
  isOver = false;
  /** Why the stream ended, unless it just reached its time limit. */
  failure: string | undefined;

  constructor(id: string | undefined, json: boolean, terminal: Terminal) {
    this.#id = id;
    this.#json = json;
    this.#terminal = terminal;
  }

  /** A new stream begins. */
  begin(): void {
    this.#rest = "";
    this.failure = "it contained no event";
  }

  read(chunk: string): void {
    const blocks = (this.#rest + chunk).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) this.#readBlock(block);
  }

  /** Says once that the stream ended. */
  reportFailure(): void {
    if (!this.#isReported) this.#terminal.err(`The stream ended (${firstSentence(this.failure ?? "")}); reconnecting.\n`);
    this.#isReported = true;
  }

  #readBlock(block: string): void {
    this.lastEventId = fieldOf(block, "id") ?? this.lastEventId;
    const data = fieldOf(block, "data");
    if (data !== undefined && fieldOf(block, "event") === "error") {
      this.failure = (JSON.parse(data) as { readonly error: string }).error;
      return;
    }
    // A silent stream contains comments.
    if (data !== undefined || block.startsWith(":")) [this.failure, this.#isReported] = [undefined, false];
    if (data !== undefined) this.#show(JSON.parse(data) as Change, data);
  }

  #show(change: Change, data: string): void {
    if (this.#isShown(change, data)) return;
    if (this.#id !== undefined && change.execution && endedStates.includes(change.execution.state)) this.isOver = true;
    const line = this.#json ? data : lineOf(change, this.#executionNames, this.#id);
    this.#terminal.out(`${withoutControlCharacters(line).replaceAll("\n", " ")}\n`);
  }

  #isShown(change: Change, data: string): boolean {
    const shown = this.#shownChanges;
    const key = `${change.execution_id} ${change.step?.seq ?? ""}`;
    const hash = sha256Of(data);
    if (shown.get(key) === hash) return true;
    shown.delete(key);
    shown.set(key, hash);
    if (shown.size > maxShown) shown.delete(shown.keys().next().value as string);
    return false;
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
 * A line about a change. `executionNames`: the names so far, by id; this function adds to them. `followedId`: the execution that
 * is followed, which the lines of its steps do not repeat.
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
