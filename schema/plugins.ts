import { z } from "zod";
import { timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const id = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be the id of a plugin: lower-case letters, digits and "-"');
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

/** A plugin that does not come with the service. */
export const plugin = z
  .object({
    id,
    version: version.nullable().describe("The version that serves; null while none was approved."),
    title: z.string().nullable(),
    about: z.string().nullable(),
    kinds: z.array(z.string()),
    tools: z.array(z.string()).describe("Names of its tools, as GET /api/tools lists them."),
    sources: z.array(z.string()),
    routes: z
      .array(z.object({ path: z.string(), method: z.string(), scope: z.string(), about: z.string() }).meta({ id: "PluginRoute" }))
      .describe("Its HTTP routes, and the scope that an API key needs there; open: none is asked for."),
    origin: z
      .enum(["environment", "installed"])
      .meta({ id: "PluginOrigin" })
      .describe("environment: SIGNALBOX_PLUGINS names it, which approves it."),
    tier: z
      .enum(["sandbox", "in_process"])
      .meta({ id: "PluginTier" })
      .describe("in_process: it is trusted by SIGNALBOX_TRUSTED_PLUGINS and may do all that the service may."),
    state: z
      .enum(pluginStates)
      .meta({ id: "PluginState" })
      .describe(
        "installed: waits for an approval; approved: is not enabled; the others are of its process on the replica that answers. degraded: it serves and crashed within ten minutes; backoff: waits for its next start; quarantined: until it is enabled again.",
      ),
    code: z
      .string()
      .nullable()
      .describe(
        "Why it does not serve, for example PLUGIN_CRASHED or UNKNOWN_CONTRACT; NAME_TAKEN: not with all that it brings.",
      ),
    reason: z.string().nullable().describe("The same in a sentence: what was expected and what came."),
    crashes: z.int().describe("In the last ten minutes, on the replica that answers."),
    memory_bytes: z.int().nullable().describe("Resident memory of its process there."),
    sha256: z.string().nullable().describe("SHA-256 of the bundle that serves."),
    permissions: z
      .object({
        http: z.array(z.object({ host: z.string(), methods: z.array(z.string()), why: z.string() })),
        operations: z.array(z.object({ id: z.string(), why: z.string() })),
        open_routes: z.array(z.object({ name: z.string(), why: z.string() })).describe("Its routes that ask for no API key."),
      })
      .meta({ id: "PluginPermissions" })
      .describe("What it may do: what its manifest asks for, without what was denied."),
    denied: z.array(z.string()).describe("What its manifest asks for and PUT /api/plugins/{id}/permissions took away, in words."),
    needs: z.array(z.string()).describe("The capabilities that it is handed."),
    settings: z
      .array(
        z
          .object({
            name: z.string(),
            title: z.string().nullable(),
            secret: z.boolean(),
            injected: z.boolean().describe("The plugin never sees it: the host puts it into requests."),
            set: z.boolean(),
          })
          .meta({ id: "PluginSetting" }),
      )
      .describe("What it may be given by PUT /api/plugins/{id}/settings, without the values."),
    waiting: z
      .object({
        version,
        widens: z.array(z.string()).describe("What it may do that the version which serves may not, in words."),
        breaks: z
          .array(z.string())
          .describe("What it breaks of the version which serves although its number says that it does not, in words."),
      })
      .meta({ id: "PluginWaiting" })
      .nullable()
      .describe("A newer version that waits for an approval."),
    versions: z.array(
      z
        .object({
          version,
          sha256: z.string(),
          origin: z.string().nullable(),
          integrity: z.string().nullable(),
          approved_at: timestamp.nullable(),
          installed_at: timestamp,
          breaks: z
            .array(z.string())
            .describe("What it breaks of the version installed before it although its number says that it does not, in words."),
        })
        .meta({ id: "PluginVersion" }),
    ),
    created_at: timestamp.nullable(),
    updated_at: timestamp.nullable(),
  })
  .meta({ id: "Plugin" });

/** A plugin that the environment names and that was not taken in. */
export const refusedPlugin = z.object({ name: z.string(), code: z.string(), reason: z.string() }).meta({ id: "RefusedPlugin" });

export const list = operation({
  id: "plugins.list",
  http: "GET /api/plugins",
  summary: "List the plugins that do not come with the service.",
  input: z.object(paging),
  output: pageOf(plugin),
});
export const refused = operation({
  id: "plugins.refused",
  http: "GET /api/refused-plugins",
  summary: "List the plugins that are not in service although they should be, with a code and the reason.",
  input: z.object(paging),
  output: pageOf(refusedPlugin),
});
export const get = operation({
  id: "plugins.get",
  http: "GET /api/plugins/:id",
  summary: "Get one plugin with its permissions, its versions and the state of its process.",
  input: z.object({ id }),
  output: plugin,
  problems: ["not_found"],
});
export const install = operation({
  id: "plugins.install",
  http: "POST /api/plugins",
  summary:
    "Store a version of a plugin. It runs nothing: a version that may do more than the one which serves waits for an approval, any other replaces it. Of development versions (`1.2.0-dev.N`) the one that serves and the newest are kept.",
  input: z.object({
    manifest: z.record(z.string(), z.unknown()).describe("Its dist/plugin.json."),
    bundle: z.base64().describe("Its bundle, compressed by gzip, as base64."),
    origin: z.string().max(500).optional().describe("Where it came from, for example a package with its version."),
    integrity: z.string().max(500).optional().describe("Its integrity there."),
  }),
  output: plugin,
  status: 201,
  scope: "admin",
  problems: ["conflict", "too_large"],
});
export const approve = operation({
  id: "plugins.approve",
  http: "POST /api/plugins/:id/approve",
  summary:
    "Approve a version with all its permissions, make it the one that serves, and enable the plugin. It is started once before: one that cannot be taken in is refused, and nothing changes. An older version is gone back to in the same way.",
  input: z.object({ id, version: version.optional().describe("The newest without.") }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const enable = operation({
  id: "plugins.enable",
  http: "POST /api/plugins/:id/enable",
  summary: "Let an approved plugin serve, also after a quarantine; one that waits for its next start is started at once.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const disable = operation({
  id: "plugins.disable",
  http: "POST /api/plugins/:id/disable",
  summary: "Stop a plugin; its calls under way may finish. It keeps its approval.",
  input: z.object({ id }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const configure = operation({
  id: "plugins.configure",
  http: "PUT /api/plugins/:id/settings",
  summary: "Set a plugin's settings and credentials, stored encrypted. Its process is started again with them.",
  input: z.object({
    id,
    settings: z
      .record(z.string().max(100), z.string().max(10_000).nullable())
      .describe("By name; null takes one away, those that are not named stay."),
  }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict", "unavailable"],
});
export const updatePermissions = operation({
  id: "plugins.narrow",
  http: "PUT /api/plugins/:id/permissions",
  summary:
    "Leave a plugin less than its manifest asks for, or give that back. What is taken away stays so for later versions. Its process is started again.",
  input: z.object({
    id,
    http: z
      .array(z.object({ host: z.string().max(300), methods: z.array(z.string().max(10)).max(10) }).meta({ id: "PluginHost" }))
      .max(64)
      .optional()
      .describe("All the hosts and methods that it keeps; as they are without."),
    operations: z.array(z.string().max(100)).max(64).optional().describe("All the operations that it keeps."),
    open_routes: z
      .array(z.string().max(100))
      .max(64)
      .optional()
      .describe("All the routes that stay open; the others ask for an API key that may read, or write for a POST."),
  }),
  output: plugin,
  scope: "admin",
  problems: ["not_found", "conflict"],
});
export const logs = operation({
  id: "plugins.logs",
  http: "GET /api/plugins/:id/logs",
  summary: "Get the last lines that a plugin logged on the replica that answers, oldest first.",
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
  summary: "Stop a plugin and remove all its versions and settings.",
  input: z.object({ id }),
  scope: "admin",
  problems: ["not_found", "conflict"],
});
