import type { OwnWrite } from "../../own-writes/own-write.ts";

/** One step of an execution, as it is stored. */
export interface StepRow {
  readonly id: string;
  readonly seq: number;
  readonly kind: "prompt" | "model" | "tool" | "post";
  state: "started" | "succeeded" | "failed" | "dry_run" | "proposed" | "rejected" | "expired";
  name: string | null;
  /** Identifies a write to the tracker across all its attempts. */
  key: string | null;
  input: unknown;
  output: unknown;
  error: string | null;
  agent_id: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number | null;
  duration_ms: number;
  started_at: string | null;
  /** `null` while its request is in flight. */
  ended_at: string | null;
  /**
   * How long a request of the step may still be in flight, in milliseconds from now; 0 if that time has passed. `null`: no
   * request was sent, or all were answered.
   */
  in_flight_ms: number | null;
  /** Whether it was approved, rejected or has expired: see `0054_approval.sql`. */
  readonly decided?: boolean;
  /** For a step that becomes `proposed`: how long it can be approved; `null`: without limit. */
  expires_ms?: number | null;
  /** Milliseconds until the check whether the completed write exists twice. Absent if it cannot exist twice. */
  check_ms?: number;
  /** Set on the model's answer until it is stored. Its usage is counted then. */
  is_answered?: boolean;
  /** The write to a tracker; stored with the step, and again with its outcome. */
  wrote?: OwnWrite;
  /** Set on a post that is a living comment: the next edit of the comment reads its text. */
  is_living?: boolean;
}

/** Members of an execution to change; absent ones keep their value. */
export interface Patch {
  readonly state?: "queued" | "held" | "waiting" | "succeeded" | "failed";
  readonly agent_id?: string | null;
  readonly result?: string | null;
  /** The result, packed, in base64. */
  readonly packed_result?: string;
  /** Number of the step that has the result. */
  readonly answer_step?: number;
  readonly result_url?: string | null;
  readonly error?: string | null;
  /** With the state `waiting`: what it waits for, in words. */
  readonly waiting_for?: string;
  readonly failures?: number;
  /** With the state `queued`: milliseconds until the next attempt. */
  readonly delay_ms?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly tool_calls?: number;
  readonly failed_tool_calls?: number;
  /** Model of its last model call. */
  readonly model?: string | null;
  /** Cost in US dollars of the model calls whose cost is known; null if none is known. */
  readonly cost_usd?: number | null;
  /** Tokens of the model calls whose cost is not known. */
  readonly unpriced_tokens?: number;
  /** With the state `queued`: the connected agent to which it is offered, for `offered_seconds`, before the LLM runs it. */
  readonly offered_to?: string;
  readonly offered_seconds?: number;
  /** With the state `held`: why, and until when. Without a time, it is held until it is released. */
  readonly held_reason?: string;
  readonly held_until?: string | null;
  /** With the state `queued`: key of the breaker that it waits for. */
  readonly blocked_by?: string | null;
  /** Its answer exists and only has to be posted, so budgets no longer hold it. */
  readonly is_paid?: true;
}

/** What a run stores at once: new steps, answers to earlier ones, and changes of its execution. */
export interface Change {
  readonly id: string;
  readonly lease: string;
  readonly steps: readonly StepRow[];
  readonly completed: readonly StepRow[];
  readonly patch: Patch;
  /** Scopes of budgets that count its answers although no request was reserved in them. */
  readonly scopes?: readonly string[];
}
