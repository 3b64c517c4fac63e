import { z } from "zod";
import { operation } from "./operation.ts";

export const setting = z
  .object({
    name: z.string().describe("Environment variable."),
    value: z
      .string()
      .nullable()
      .describe("Value in effect; null if none is set. Secrets are masked, and so are user names and passwords in URLs."),
    default: z.string().nullable().describe("Value without the variable; null if there is none."),
    source: z
      .enum(["environment", "file", "default"])
      .describe("Where the value comes from. `file`: `.env` in the working folder, which the environment overrides."),
    secret: z.boolean().describe("Whether the value is never shown."),
    about: z.string().describe("What the variable sets."),
  })
  .meta({ id: "Setting" });

export const get = operation({
  id: "configuration.get",
  http: "GET /api/configuration",
  summary: "Get the configuration in effect",
  description:
    "Returns every setting of the replica that answers, with its value, its default and where the value comes from. The settings of plugins follow. It changes only with a restart.",
  output: z.object({ settings: z.array(setting) }).meta({ id: "Configuration" }),
  scope: "admin",
});
