import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation } from "./operation.ts";
import { pause } from "./pauses.ts";

export const checkState = z.enum(["ok", "degraded", "failed", "unknown"]).meta({ id: "CheckState" });

export const connectionReport = z
  .object({
    account: z.string().nullable().describe("Login or id; null if the platform does not say."),
    may_write: z.boolean().nullable().describe("Whether the credential may write comments; null if the platform does not say."),
    rate_limit: z
      .object({
        remaining: z.int().describe("Requests that are left."),
        limit: z.int().nullable().describe("Requests of a whole period; null if the platform does not say."),
        resets_at: timestamp.nullable().describe("When the limit is full again; null if the platform does not say."),
      })
      .meta({ id: "RateLimit" })
      .nullable()
      .describe("As the last check found it; null if the platform does not say."),
  })
  .meta({ id: "ConnectionReport" });

export const check = z
  .object({
    name: z.string().describe("What was checked, for example `database`, `model`, `connection:alpha` or `plugin:clock`."),
    state: checkState.describe("`degraded`: it works with a limit or a risk; `unknown`: not checked yet."),
    since: timestamp.describe("When this replica first saw the state."),
    message: z.string().describe("What is the matter, with host and cause, or what was found."),
    next_try_at: timestamp.nullable().describe("When it is tried again, or a limit ends; null if that is not scheduled."),
    connection: connectionReport.nullable().describe("For an account that was reached: what the platform says about it."),
  })
  .meta({ id: "StatusCheck" });

export const queue = z
  .object({
    queued: z.int(),
    running: z.int(),
    held: z.int(),
    waiting: z.int(),
    failed_last_hour: z.int(),
    oldest_queued_seconds: z.int().nullable().describe("Age of the oldest queued execution; null if none is queued."),
    p50_wait_ms: z
      .int()
      .nullable()
      .describe("Median time from creation to start, of those started in the last hour; null if none."),
  })
  .meta({ id: "QueueStatus" });

export const replica = z
  .object({
    id: z.uuid(),
    host: z.string(),
    role: z.enum(["all", "api", "worker"]),
    version: z.string(),
    running: z.int().describe("Executions that it runs."),
    started_at: timestamp,
    seen_at: timestamp.describe("Its last sign of life. It sends one every ten seconds."),
    this: z.boolean().describe("Whether it answers this request."),
  })
  .meta({ id: "Replica" });

export const connectedAgent = z
  .object({
    agent_id: z.string(),
    streams: z.int().describe("Its open `ReceiveTasks` streams, on all replicas."),
    running: z.int().describe("Executions that it works on."),
  })
  .meta({ id: "ConnectedAgent" });

export const get = operation({
  id: "status.get",
  http: "GET /api/status",
  summary: "Get the status of the service",
  description:
    "Returns whether everything works and, if not, what fails and since when. Checks of other services run in the background; the answer has their last results.",
  output: z
    .object({
      state: z
        .enum(["ok", "degraded", "stopped"])
        .meta({ id: "ServiceState" })
        .describe(
          "`stopped`: no execution starts, because the database is unavailable, everything is paused, or no replica runs executions.",
        ),
      checks: z.array(check),
      queue: queue.nullable().describe("Executions by state; null while the database is unavailable."),
      paused: z.array(pause),
      replicas: z.array(replica),
      agents: z.array(connectedAgent).describe("External agents that receive tasks over gRPC in place of the model."),
      version: z.string(),
      timestamp,
    })
    .meta({ id: "Status" }),
});
