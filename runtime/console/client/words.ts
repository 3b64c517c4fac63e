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
    sentence: "The run is waiting for its turn.",
    next: "It starts automatically. If it stays queued, check the Now page for a pause.",
    tone: "wait",
  },
  held: {
    sentence: "The run is on hold because of a limit or an outage.",
    next: "Release it to continue anyway. After an outage, it continues automatically. To hold fewer runs, change the limit named in the reason.",
    tone: "wait",
  },
  running: { sentence: "The agent is working on it.", next: "Watch the steps as they happen, or cancel the run.", tone: "busy" },
  waiting: {
    sentence: "The run is waiting for a decision.",
    next: "Review the agent's proposals, then approve or reject them.",
    tone: "wait",
  },
  succeeded: {
    sentence: "The agent answered.",
    next: "Read the answer, or try another prompt as a dry run.",
    tone: "good",
  },
  failed: {
    sentence: "The run failed and will not be retried automatically.",
    next: "Fix the cause, then restart the run. It resumes after its last finished step.",
    tone: "bad",
  },
  cancelled: {
    sentence: "The run was cancelled. It will not post anything.",
    next: "To do the work again, replay its delivery.",
    tone: "idle",
  },
};

export const deliveries: Readonly<Record<EventOutcome, StateText>> = {
  dispatched: {
    sentence: "The delivery fired a trigger, and its tasks were queued.",
    next: "See its runs for results.",
    tone: "good",
  },
  discarded: {
    sentence: "The delivery was stored, but it does not start any runs.",
    next: "Read the reason. If you change the routing, replay the delivery.",
    tone: "idle",
  },
  refused: {
    sentence: "The delivery was refused, and its body was not stored.",
    next: "Fix the cause, then redeliver the webhook from the tracker.",
    tone: "bad",
  },
};
