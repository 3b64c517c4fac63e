import { z } from "zod";
import { operation } from "./operation.ts";

export const setting = z
  .object({
    name: z.string().describe("Environment variable."),
    value: z
      .string()
      .nullable()
      .describe("Value in effect; null if none is set. Secrets, and user names and passwords in URLs, are masked."),
    default: z.string().nullable().describe("Value if the variable is not set; null if there is none."),
    source: z
      .enum(["environment", "file", "default"])
      .describe("Where the value comes from. `file`: `.env` in the working folder, which the environment overrides."),
    secret: z.boolean().describe("Whether the value is a secret, which is never shown."),
    about: z.string().describe("Description of the variable."),
  })
  .meta({ id: "Setting" });

export const get = operation({
  id: "configuration.get",
  http: "GET /api/configuration",
  summary: "Get the configuration in effect",
  description:
    "Returns every setting of the replica that responds, with its value, its default and the origin of its value, followed by the settings of plugins. Changes require a restart.",
  output: z.object({ settings: z.array(setting) }).meta({ id: "Configuration" }),
  scope: "admin",
});
