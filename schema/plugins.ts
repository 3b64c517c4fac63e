import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const id = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, "must be a plugin id: lower-case letters, digits and `-`, starting with a letter");
const version = z.string().max(100);

export const pluginStates = [
  "installed",
  "approved",
  "enabled",
  "starting",
  "ready",
  "degraded",
  "backoff",
  "quarantined",
  "stopped",
] as const;

/** A plugin that is not built in. */
export const plugin = z
  .object({
    id,
    version: version.nullable().describe("Active version; null until a version is approved."),
    title: z.string().nullable(),
    about: z.string().nullable(),
    kinds: z.array(z.string()),
    tools: z.array(z.string()).describe("Qualified names of its tools."),
    sources: z.array(z.string()),
    routes: z
      .array(z.object({ path: z.string(), method: z.string(), scope: z.string(), about: z.string() }).meta({ id: "PluginRoute" }))
      .describe("HTTP routes of the plugin with the scope that an API key needs; `open`: no API key is needed."),
    origin: z
      .enum(["environment", "installed"])
      .meta({ id: "PluginOrigin" })
      .describe("How the plugin was installed. `environment`: it is listed in `SIGNALBOX_PLUGINS` and therefore approved."),
    tier: z
      .enum(["sandbox", "in_process"])
      .meta({ id: "PluginTier" })
      .describe(
        "Where the plugin runs. `in_process`: in the process of the service, without a sandbox, because it is listed in `SIGNALBOX_TRUSTED_PLUGINS`.",
      ),
    state: z
      .enum(pluginStates)
      .meta({ id: "PluginState" })
      .describe(
        "State of the plugin. `installed`: waits for approval; `approved`: not enabled. The other states describe its process on the replica that responds. `degraded`: running, but it crashed within the last ten minutes; `backoff`: waits for its next start; `quarantined`: stopped after repeated crashes until it is enabled again.",
      ),
    code: z
      .string()
      .nullable()
      .describe(
        "Error code if the plugin is not running, for example `PLUGIN_CRASHED` or `UNKNOWN_CONTRACT`. `NAME_TAKEN`: it is running, but some of its contributions have names that are already in use.",
      ),
    reason: z.string().nullable().describe("Explanation of `code`: what was expected and what was found."),
    crashes: z.int().describe("Crashes in the last ten minutes on the replica that responds."),
    memory_bytes: z.int().nullable().describe("Resident memory of its process on that replica."),
    sha256: z.string().nullable().describe("SHA-256 digest of the active bundle."),
    permissions: z
      .object({
        http: z.array(z.object({ host: z.string(), methods: z.array(z.string()), why: z.string() })),
        operations: z.array(z.object({ id: z.string(), why: z.string() })),
        open_routes: z.array(z.object({ name: z.string(), why: z.string() })).describe("Routes that need no API key."),
      })
      .meta({ id: "PluginPermissions" })
      .describe("Permissions of the plugin: those in its manifest, except those in `denied`."),
    denied: z
      .array(z.string())
      .describe("Permissions in its manifest that PUT /api/plugins/{id}/permissions has denied, described in words."),
    needs: z.array(z.string()).describe("Capabilities that the plugin receives from the host."),
    settings: z
      .array(
        z
          .object({
            name: z.string(),
            title: z.string().nullable(),
            secret: z.boolean(),
            injected: z.boolean().describe("Whether the host adds the value to requests, so that the plugin never sees it."),
            set: z.boolean(),
            required: z.boolean().describe("Whether the plugin, or every account of its source, needs the setting."),
          })
          .meta({ id: "PluginSetting" }),
      )
      .describe("Settings that PUT /api/plugins/{id}/settings accepts, without their values."),
    waiting: z
      .object({
        version,
        widens: z.array(z.string()).describe("Permissions that the active version does not have, described in words."),
        breaks: z
          .array(z.string())
          .describe("Breaking changes since the active version that the version number does not announce, described in words."),
      })
      .meta({ id: "PluginWaiting" })
      .nullable()
      .describe("Newer version that waits for approval; null if there is none."),
    versions: z.array(
      z
        .object({
          version,
          sha256: z.string(),
          origin: z.string().nullable(),
          integrity: z.string().nullable(),
          publisher: z
            .string()
            .nullable()
            .describe("Publisher of the version: name and registry of its package. An approval is valid for one publisher."),
          rolled_back_at: timestamp
            .nullable()
            .describe("When an operator rolled back from this version; null if that has not happened."),
          approved_at: timestamp.nullable(),
          installed_at: timestamp,
          breaks: z
            .array(z.string())
            .describe(
              "Breaking changes since the version installed before it that the version number does not announce, described in words.",
            ),
        })
        .meta({ id: "PluginVersion" }),
    ),
    created_at: timestamp.nullable(),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: "Plugin" });

/** A plugin that is configured but could not be loaded. */
export const refusedPlugin = z.object({ name: z.string(), code: z.string(), reason: z.string() }).meta({ id: "RefusedPlugin" });

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
  description: "Returns the layers on the replica that responds, and why others are missing.",
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
    "Stores the version without running it. A version that asks for more permissions than the active one waits for approval; any other replaces the active version. Of development versions (`1.2.0-dev.N`) only the active and the newest are kept.",
  input: z.object({
    manifest: z.record(z.string(), z.unknown()).describe("Content of the plugin's `dist/plugin.json`."),
    bundle: z.base64().describe("Bundle of the plugin, compressed with gzip and encoded as base64."),
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
  problems: ["conflict", "too_large"],
});
export const approve = operation({
  id: "plugins.approve",
  http: "POST /api/plugins/:id/approve",
  summary: "Approve a version of a plugin",
  description:
    "Grants all its permissions, makes it the active version and enables the plugin. The version is started once first; if that fails, the request fails and nothing changes. Approve an older version to roll back.",
  input: z.object({ id, version: version.optional().describe("Version to approve. Default: the newest.") }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const enable = operation({
  id: "plugins.enable",
  http: "POST /api/plugins/:id/enable",
  summary: "Enable a plugin",
  description: "Starts an approved plugin, also after a quarantine or while it waits for its next start.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const disable = operation({
  id: "plugins.disable",
  http: "POST /api/plugins/:id/disable",
  summary: "Disable a plugin",
  description: "Stops the plugin after its running calls have finished. Its approval is kept.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
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
      .describe("Settings by name. `null` deletes a setting; settings that are not sent keep their values."),
  }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict", "unavailable"],
});
export const updatePermissions = operation({
  id: "plugins.narrow",
  http: "PUT /api/plugins/:id/permissions",
  summary: "Update a plugin's permissions",
  description:
    "Grants the plugin less than its manifest asks for, or restores what was denied. Denials also apply to later versions. The plugin's process is restarted.",
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
  problems: ["not_found", "conflict"],
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
  problems: ["not_found", "conflict"],
});
