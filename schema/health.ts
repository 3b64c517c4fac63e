import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation } from "./operation.ts";

export const get = operation({
  id: "health.get",
  http: "GET /health",
  summary: "Get the health of the service",
  output: z
    .object({
      status: z.enum(["ok", "degraded"]),
      timestamp,
      plugins: z
        .array(z.object({ id: z.string(), state: z.enum(["backoff", "quarantined"]) }).meta({ id: "PluginNotServing" }))
        .optional()
        .describe("Installed plugins that are not running. The service is healthy without them."),
      deferred_webhooks: z
        .array(
          z.object({ plugin: z.string(), slug: z.string(), count: z.int(), oldest_at: timestamp }).meta({ id: "PathBacklog" }),
        )
        .optional()
        .describe("Webhooks that are deferred until their plugin is available, by webhook path. Updated every few seconds."),
      down: z.array(z.string()).optional().describe("Components that are unavailable."),
    })
    .meta({ id: "Health" }),
  problems: ["forbidden"],
  scope: "open",
  alternateStatus: { status: 503, when: (output) => output.status === "degraded" },
});
