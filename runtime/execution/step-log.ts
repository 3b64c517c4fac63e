import type { SubjectDetails } from "@signalbox/sdk";
import type { Message, ToolCall } from "../llm/chat-messages.ts";
import type { Patch, StepRow } from "./steps/rows.ts";

/** Decisions made before the first request. They are stored in the transcript, so that a resumed run follows the same plan. */
export interface Plan {
  readonly agent_id: string | null;
  readonly model: string;
  readonly temperature: number | null;
  readonly messages: readonly Message[];
  /** Qualified names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** What was looked up about the issue of the event. */
  readonly about?: SubjectDetails;
}

export type NewStep = Partial<StepRow> & Pick<StepRow, "kind" | "state">;

/** Stores the steps of a conversation: the transcript of an execution, or the record of a chat. */
export interface StepLog {
  /** By `seq`: the step with the number n is at index n. */
  readonly steps: readonly StepRow[];
  add(step: NewStep): StepRow;
  complete(step: StepRow, change: Partial<StepRow>): void;
  flush(patch?: Patch): Promise<void>;
  /** Whether the step was added since the log was opened, and not by an earlier attempt. */
  isOfThisAttempt(step: StepRow): boolean;
}

export interface ModelOutput {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
  /** Why the model stopped early: `length` or `content_filter`. */
  readonly finish_reason?: string;
  readonly refusal?: string;
}
