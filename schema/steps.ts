import { z } from "zod";
import { timestamp, unreadable } from "./common.ts";

export const stepKinds = ["prompt", "model", "tool", "post"] as const;
export const stepStates = ["started", "succeeded", "failed", "dry_run", "proposed", "rejected", "expired"] as const;
export const stepState = z.enum(stepStates).meta({
  id: "StepState",
  description:
    "`started`: not finished yet; `dry_run`: recorded and not sent; `proposed`: a write waiting for a decision; if it is not approved, it becomes `rejected` or `expired`.",
});

/**
 * One step of a transcript: the prompt, a model call, a tool call, or the posted comment. A write is stored as `started` before
 * its request goes out.
 */
export const step = z
  .object({
    seq: z.int(),
    kind: z.enum(stepKinds).meta({ id: "StepKind" }),
    state: stepState,
    name: z.string().nullable().describe("Model name, or qualified tool name."),
    input: z.unknown().describe("Input of the step. `prompt`: the messages; `tool`: the parameters; `post`: the Markdown body."),
    output: z
      .unknown()
      .describe("Output of the step. `model`: `{content, tool_calls}`; `tool`: the result; `post`: `{id, url}`."),
    error: z.string().nullable(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost_usd: z.number().nullable().describe("Cost in US dollars as reported by the LLM proxy; null if it was not reported."),
    duration_ms: z.int(),
    created_at: timestamp,
    started_at: timestamp.describe("When the request was or will be sent."),
    ended_at: timestamp
      .nullable()
      .describe("When the step finished; null while it is running, for proposals, and for steps stored by older versions."),
    unreadable: unreadable("input or output"),
  })
  .meta({ id: "ExecutionStep" });
