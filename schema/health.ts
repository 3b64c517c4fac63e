import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation } from "./operation.ts";

export const get = operation({
  id: "health.get",
  http: "GET /health",
  summary: "Say whether the service can serve.",
  output: z
    .object({
      status: z.enum(["ok", "degraded"]),
      timestamp,
      plugins: z
        .array(z.object({ id: z.string(), state: z.enum(["backoff", "quarantined"]) }).meta({ id: "PluginNotServing" }))
        .optional()
        .describe("Installed plugins whose process does not serve. The service serves without them."),
      unread_webhooks: z
        .array(
          z
            .object({ plugin: z.string(), slug: z.string(), count: z.int(), oldest_at: timestamp })
            .meta({ id: "WaitingWebhooks" }),
        )
        .optional()
        .describe("Webhooks that wait for a plugin that is away, by the path that they came in by, as of some seconds ago."),
      down: z.array(z.string()).optional().describe("The parts that do not answer."),
    })
    .meta({ id: "Health" }),
  problems: ["forbidden"],
  scope: "open",
  alternateStatus: { status: 503, when: (output) => output.status === "degraded" },
});
