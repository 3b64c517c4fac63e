import { z } from "zod";
import { operation, pageOf, paging } from "./operation.ts";

const queue = z
  .string()
  .min(1)
  .max(63)
  .describe("Name of the queue: `postgres`, `redis` if Redis is connected, or the queue of a plugin.");

/** One message of a queue: a CloudEvents 1.0 event in its JSON form. */
export const cloudEvent = z
  .object({
    specversion: z.literal("1.0"),
    id: z.string().describe("Event id, the same for every delivery."),
    source: z.string().describe("Event origin, for example /webhook/alpha."),
    type: z
      .string()
      .describe(
        "Event type: `dev.signalbox.event.received`, or `dev.signalbox.execution.succeeded`, `.failed`, `.cancelled`, `.waiting` or `.held`.",
      ),
    subject: z.string().optional().describe("The event's issue or pull request, for example alpha:octo/repo#12."),
    time: z.iso.datetime(),
    datacontenttype: z.literal("application/json"),
    data: z
      .unknown()
      .describe(
        "The webhook event without its payload, or the execution without its transcript. A result of more than 100,000 characters is cut, and `result_cut` is true.",
      ),
  })
  .meta({ id: "CloudEvent" });

export const pending = operation({
  id: "queues.pending",
  http: "GET /api/:queue/events/pending",
  rpc: "QueueService.ListPendingEvents",
  summary: "List pending events",
  description: "Returns the events of a queue that no consumer has taken, oldest first.",
  input: z.object({ queue, ...paging }),
  output: pageOf(cloudEvent),
  problems: ["not_found", "unavailable"],
});
export const take = operation({
  id: "queues.take",
  http: "POST /api/:queue/events/take",
  rpc: "QueueService.TakeEvents",
  summary: "Take events",
  description:
    "Leases the oldest pending events. If an event is not acknowledged before its lease ends, it becomes pending again.",
  input: z.object({
    queue,
    limit: z.int().min(1).max(1000).default(10).describe("Maximum number of events to take. Default: 10."),
    lease_seconds: z
      .int()
      .min(1)
      .max(43_200)
      .default(60)
      .describe("Seconds until events that are not acknowledged become pending again. Default: 60."),
  }),
  output: z.object({ events: z.array(cloudEvent) }).meta({ id: "TakenEvents" }),
  problems: ["not_found", "unavailable"],
});
export const ack = operation({
  id: "queues.ack",
  http: "POST /api/:queue/events/:id/ack",
  rpc: "QueueService.AckEvent",
  summary: "Acknowledge an event",
  description: "Marks a taken event as processed. Repeating the request has no effect.",
  input: z.object({ queue, id: z.string().min(1).max(200).describe("`id` of the event.") }),
  status: 204,
  problems: ["not_found", "unavailable"],
});
