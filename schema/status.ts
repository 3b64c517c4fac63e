import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation } from "./operation.ts";
import { pause } from "./pauses.ts";

export const checkState = z.enum(["ok", "degraded", "failed", "unknown"]).meta({ id: "CheckState" });

export const connectionReport = z
  .object({
    account: z.string().nullable().describe("Login or id; null if the platform does not say."),
    may_write: z.boolean().nullable().describe("Whether the credential can write comments; null if the platform does not say."),
    rate_limit: z
      .object({
        remaining: z.int().describe("Remaining requests."),
        limit: z.int().nullable().describe("Requests per period; null if the platform does not say."),
        resets_at: timestamp.nullable().describe("When the limit resets; null if the platform does not say."),
      })
      .meta({ id: "RateLimit" })
      .nullable()
      .describe("Rate limit at the last check; null if the platform does not say."),
  })
  .meta({ id: "ConnectionReport" });

export const check = z
  .object({
    name: z
      .string()
      .describe("Checked component, for example `database`, `model`, `connection:alpha`, `posts:alpha` or `plugin:clock`."),
    state: checkState.describe("`degraded`: working, but with a limitation or a risk; `unknown`: not checked yet."),
    since: timestamp.describe("When this replica first saw the state."),
    message: z.string().describe("The problem, with host and cause, or the result of the check."),
    next_try_at: timestamp.nullable().describe("When the next try is due or a limit ends; null if neither is scheduled."),
    connection: connectionReport
      .nullable()
      .describe("What the platform says about the account; null if there is no account or it was not reached."),
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
      .describe("Median time from creation to start, for executions started in the last hour; null if none."),
  })
  .meta({ id: "QueueStatus" });

export const replica = z
  .object({
    id: z.uuid(),
    host: z.string(),
    role: z.enum(["all", "api", "worker"]),
    version: z.string(),
    running: z.int().describe("Executions running on the replica."),
    started_at: timestamp,
    seen_at: timestamp.describe("Time of the replica's last heartbeat. A replica sends one every ten seconds."),
    silent_seconds: z
      .int()
      .nullable()
      .describe(
        "Seconds since the last heartbeat, if it is overdue and the replica has not stopped; null while heartbeats arrive. A silent replica is listed until five minutes after its leases have expired.",
      ),
    this: z.boolean().describe("Whether this replica responds to the request."),
  })
  .meta({ id: "Replica" });

export const connectedAgent = z
  .object({
    agent_id: z.string(),
    streams: z.int().describe("Open `ReceiveTasks` streams of the agent, on all replicas."),
    running: z.int().describe("Executions that the agent is working on."),
  })
  .meta({ id: "ConnectedAgent" });

export const get = operation({
  id: "status.get",
  http: "GET /api/status",
  summary: "Get the status of the service",
  description:
    "Returns whether everything works and, if not, what fails and since when. Other services are checked in the background; the response contains the latest results.",
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
      agents: z.array(connectedAgent).describe("External agents that receive tasks over gRPC instead of the model."),
      version: z.string(),
      timestamp,
    })
    .meta({ id: "Status" }),
});
