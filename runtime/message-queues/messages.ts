import type { CloudEvent, Json } from "@signalbox/sdk";
import type { MessageRow } from "./queries.ts";

/** Converts a row to a CloudEvents 1.0 event. */
export const toCloudEvent = ({ id, kind, time, slug, subject, data }: MessageRow): CloudEvent => ({
  specversion: "1.0",
  id,
  source: kind === "received" ? `/webhook/${slug}` : "/api/task-executions",
  type: kind === "received" ? "dev.signalbox.event.received" : `dev.signalbox.execution.${kind}`,
  ...(subject === null ? {} : { subject }),
  time,
  datacontenttype: "application/json",
  data: data as Json,
});
