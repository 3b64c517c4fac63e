import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";
import { pluginId as id, plugin, refusedPlugin, pluginVersion as version } from "./plugin.ts";

export { plugin, refusedPlugin } from "./plugin.ts";

export const list = operation({
  id: "plugins.list",
  http: "GET /api/plugins",
  summary: "List plugins",
  description: "Built-in plugins are not listed.",
  input: z.object(paging),
  output: pageOf(plugin),
});
export const refused = operation({
  id: "plugins.refused",
  http: "GET /api/refused-plugins",
  summary: "List refused plugins",
  description: "Returns the plugins that are configured but not running, each with an error code and the reason.",
  input: z.object(paging),
  output: pageOf(refusedPlugin),
});
export const isolation = operation({
  id: "plugins.isolation",
  http: "GET /api/plugin-isolation",
  summary: "Get the isolation layers of plugins",
  description: "Returns the active layers on the replica that responds, and why others are missing.",
  output: z
    .object({
      required: z.boolean().describe("Whether plugins are refused if a layer is missing (`PLUGIN_WALLS=require`)."),
      layers: z.array(
        z
          .object({
            layer: z
              .enum(["limits", "no_new_privileges", "own_user", "namespaces", "seccomp"])
              .meta({ id: "IsolationLayerName" }),
            active: z.boolean(),
            reason: z.string().nullable().describe("Why the layer is not active; null if it is active."),
          })
          .meta({ id: "IsolationLayer" }),
      ),
    })
    .meta({ id: "PluginIsolation" }),
});
export const get = operation({
  id: "plugins.get",
  http: "GET /api/plugins/:id",
  summary: "Get a plugin",
  description: "Includes its permissions, its versions and the state of its process.",
  input: z.object({ id }),
  output: plugin,
  problems: ["not_found"],
});
export const install = operation({
  id: "plugins.install",
  http: "POST /api/plugins",
  summary: "Install a version of a plugin",
  description:
    "Stores the version without running it. If it requests more permissions than the active version, it waits for approval; otherwise it replaces the active version. Only the active and the latest development versions (`1.2.0-dev.N`) are kept.",
  input: z.object({
    manifest: z.record(z.string(), z.unknown()).describe("Content of the plugin's `dist/plugin.json`."),
    bundle: z.base64().describe("The plugin's bundle, compressed with gzip and encoded as base64."),
    origin: z.string().max(500).optional().describe("Where the version came from, for example a package name with its version."),
    publisher: z
      .string()
      .max(500)
      .optional()
      .describe("Publisher of the version: name and registry of its package. Default: the package name in `origin`."),
    integrity: z.string().max(500).optional().describe("Integrity hash of the package at its origin."),
  }),
  output: plugin,
  status: 201,
  scope: "admin",
  problems: ["already_exists", "wrong_state", "too_large"],
});
export const approve = operation({
  id: "plugins.approve",
  http: "POST /api/plugins/:id/approve",
  summary: "Approve a version of a plugin",
  description:
    "Grants all its permissions, makes it the active version and enables the plugin. The version is started once first; if that fails, the request fails and nothing changes. Approve an older version to roll back.",
  input: z.object({ id, version: version.optional().describe("Version to approve. Default: the latest.") }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "wrong_state"],
});
export const enable = operation({
  id: "plugins.enable",
  http: "POST /api/plugins/:id/enable",
  summary: "Enable a plugin",
  description: "Starts an approved plugin, also after a quarantine or while it is waiting to be restarted.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "wrong_state"],
});
export const disable = operation({
  id: "plugins.disable",
  http: "POST /api/plugins/:id/disable",
  summary: "Disable a plugin",
  description: "Stops the plugin after its running calls have finished. Its approval is kept.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "wrong_state"],
});
export const configure = operation({
  id: "plugins.configure",
  http: "PUT /api/plugins/:id/settings",
  summary: "Update a plugin's settings",
  description: "Sets settings and credentials, which are stored encrypted. The plugin's process is restarted.",
  input: z.object({
    id,
    settings: z
      .record(z.string().max(100), z.string().max(10_000).nullable())
      .describe("Settings by name. `null` deletes a setting; omitted settings keep their values."),
  }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "wrong_state", "changed_meanwhile", "unavailable"],
});
export const updatePermissions = operation({
  id: "plugins.narrow",
  http: "PUT /api/plugins/:id/permissions",
  summary: "Update a plugin's permissions",
  description:
    "Denies permissions that the manifest requests, or restores denied ones. Denials also apply to later versions. The plugin's process is restarted.",
  input: z.object({
    id,
    http: z
      .array(z.object({ host: z.string().max(300), methods: z.array(z.string().max(10)).max(10) }).meta({ id: "PluginHost" }))
      .max(64)
      .optional()
      .describe("All hosts and methods that the plugin keeps. Default: no change."),
    operations: z
      .array(z.string().max(100))
      .max(64)
      .optional()
      .describe("All operations that the plugin keeps. Default: no change."),
    open_routes: z
      .array(z.string().max(100))
      .max(64)
      .optional()
      .describe(
        "All routes that stay open. The others require an API key with the scope `read`, or `write` for a POST. Default: no change.",
      ),
  }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "wrong_state"],
});
export const logs = operation({
  id: "plugins.logs",
  http: "GET /api/plugins/:id/logs",
  summary: "Get a plugin's log",
  description: "Returns the last lines that the plugin logged on the replica that responds, oldest first.",
  input: z.object({ id }),
  output: z
    .object({
      lines: z.array(
        z
          .object({ time: timestamp, message: z.string(), fields: z.record(z.string(), z.unknown()) })
          .meta({ id: "PluginLogLine" }),
      ),
    })
    .meta({ id: "PluginLog" }),
  scope: "admin",
  problems: ["not_found"],
});
export const remove = operation({
  id: "plugins.remove",
  http: "DELETE /api/plugins/:id",
  summary: "Delete a plugin",
  description: "Stops the plugin and deletes all its versions and settings.",
  input: z.object({ id }),
  scope: "admin",
  problems: ["not_found", "wrong_state"],
});
