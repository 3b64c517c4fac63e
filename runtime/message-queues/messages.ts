import { type CloudEvent, type Json, truncate } from "@signalbox/sdk";
import type { MessageRow } from "./queries.ts";

/** A broker that refused a longer message would refuse it for ever, and those after it would wait: NATS accepts 1 MiB by default. */
const maxResultLength = 100_000;

/** Converts a row to a CloudEvents 1.0 event. */
export const toCloudEvent = ({ id, kind, time, slug, subject, data }: MessageRow): CloudEvent => ({
  specversion: "1.0",
  id,
  source: kind === "received" ? `/webhook/${slug}` : "/api/task-executions",
  type: kind === "received" ? "dev.signalbox.event.received" : `dev.signalbox.execution.${kind}`,
  ...(subject === null ? {} : { subject }),
  time,
  datacontenttype: "application/json",
  data: withShortResult(data) as Json,
});

function withShortResult(data: MessageRow["data"]): MessageRow["data"] {
  const { result } = data;
  if (typeof result !== "string" || result.length <= maxResultLength) return data;
  return { ...data, result: truncate(result, maxResultLength), result_cut: true };
}
