import { z } from "zod";
import { execution } from "./executions.ts";
import { operation } from "./operation.ts";
import { step } from "./steps.ts";

/** One change, as it is now: of an execution, or of a step of its transcript. */
export const liveChange = z
  .object({
    execution_id: z.uuid(),
    execution: execution.omit({ result: true }).nullable().describe("The execution after the change; null for a step."),
    step: step.nullable().describe("The step after the change; null for a change of the execution itself."),
  })
  .meta({ id: "LiveChange" });

const seconds = z
  .int()
  .min(1)
  .max(3_600)
  .default(300)
  .describe("Seconds after which the stream ends; reconnect with `Last-Event-ID`. Default: 300.");
const ids =
  "Sends server-sent events `execution` and `step`. With `Last-Event-ID`, the stream continues after that event; it may repeat events of the minute before. Each event contains the current state, so a repeated one changes nothing. If the stream fails, its last event is `error`, with `{error}`.";

export const ofExecution = operation({
  id: "task-executions.events",
  http: "GET /api/task-executions/:id/events",
  summary: "Follow a task execution",
  description: `${ids} The stream ends when the execution ends.`,
  input: z.object({ id: z.uuid(), seconds }),
  output: liveChange,
  serverSentEvents: liveChange,
  problems: ["not_found"],
});
export const ofService = operation({
  id: "events.follow",
  http: "GET /api/events",
  summary: "Follow all executions",
  description: `${ids} The stream starts with the running executions, without their earlier steps. A stream that is read too slowly ends with an error.`,
  input: z.object({ seconds }),
  output: liveChange.nullable(),
  serverSentEvents: liveChange,
});
