import { z } from "zod";
import { operation, pageOf, paging } from "./operation.ts";

const queue = z.string().min(1).max(63).describe("Name of a queue: `postgres`, and `redis` where Redis is connected.");

/** One message of a queue: a CloudEvents 1.0 event in its JSON form. */
export const cloudEvent = z
  .object({
    specversion: z.literal("1.0"),
    id: z.string().describe("The same for every delivery of the message."),
    source: z.string().describe("Where it happened, for example /webhook/alpha."),
    type: z
      .string()
      .describe("`dev.signalbox.event.received` or `dev.signalbox.execution.succeeded`, `….failed`, `….cancelled`."),
    subject: z.string().optional().describe("The issue or pull request, for example alpha:octo/repo#12."),
    time: z.iso.datetime(),
    datacontenttype: z.literal("application/json"),
    data: z.unknown().describe("The webhook event without its payload, or the execution without its transcript."),
  })
  .meta({ id: "CloudEvent" });

export const pending = operation({
  id: "queues.pending",
  http: "GET /api/:queue/events/pending",
  rpc: "QueueService.ListPendingEvents",
  summary: "List the events of a queue that nobody has taken, oldest first.",
  input: z.object({ queue, ...paging }),
  output: pageOf(cloudEvent),
  problems: ["not_found", "unavailable"],
});
export const take = operation({
  id: "queues.take",
  http: "POST /api/:queue/events/take",
  rpc: "QueueService.TakeEvents",
  summary: "Take the oldest pending events. What is not acknowledged within its lease is pending again.",
  input: z.object({
    queue,
    limit: z.int().min(1).max(1000).default(10).describe("At most this many."),
    lease_seconds: z.int().min(1).max(43_200).default(60).describe("How long they are yours."),
  }),
  output: z.object({ events: z.array(cloudEvent) }).meta({ id: "TakenEvents" }),
  problems: ["not_found", "unavailable"],
});
export const ack = operation({
  id: "queues.ack",
  http: "POST /api/:queue/events/:id/ack",
  rpc: "QueueService.AckEvent",
  summary: "Acknowledge an event that was taken: it is done with. Doing so again changes nothing.",
  input: z.object({ queue, id: z.string().min(1).max(200).describe("`id` of the event.") }),
  status: 204,
  problems: ["not_found", "unavailable"],
});
