import { openFence } from "@signalbox/sdk";
import { Failure } from "../platform/retry.ts";
import { hasVisibleText } from "../untrusted/clean.ts";
import type { ModelOutput, StepLog } from "./step-log.ts";
import type { StepRow } from "./steps/rows.ts";

/** Asks a model to finish an answer that reached its length limit. */
export const continueRequest =
  "Your answer was cut off at its length limit. Go on exactly where it stopped, without repeating anything.";

const cutNote = "> **Cut off.** The model reached its length limit, and the end of this answer is missing.";

/** Whether the answer was cut off at the model's length limit, so that the model can continue it. */
export const isCut = ({ finish_reason, tool_calls }: ModelOutput): boolean =>
  finish_reason === "length" && tool_calls.length === 0;

/** The text of an answer, joined from its two parts if the first was cut off. */
export function joinAnswer(parts: readonly ModelOutput[]): string {
  const text = parts.map(({ content }) => content).join("");
  const last = parts.at(-1);
  if (!last || !isCut(last)) return text;
  const fence = openFence(text);
  return `${text.trimEnd()}${fence ? `\n${fence}` : ""}\n\n${cutNote}`;
}

/**
 * Throws if the answer was refused or filtered, or has no visible text. Its step is then marked as failed, so that a
 * restart asks the model again.
 */
export function requireAnswer(text: string, step: StepRow, log: StepLog): void {
  const { refusal, finish_reason } = step.output as ModelOutput;
  const reason = refusal
    ? `The model refused to answer: ${refusal.slice(0, 500)}`
    : finish_reason === "content_filter"
      ? "The answer was withheld by the model's content filter (finish_reason content_filter)."
      : hasVisibleText(text)
        ? null
        : `${step.name?.startsWith("agent:") ? "The agent's" : "The model's"} answer has no visible text, so there is nothing to post.`;
  if (reason === null) return;
  log.complete(step, { state: "failed", error: reason });
  throw new Failure(reason, { retryable: false });
}
