import { z } from "zod";
import { timestamp } from "./common.ts";

/** The id of a plugin, as its manifest has it. */
export const pluginId = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, "must be a plugin id: lower-case letters, digits and `-`, starting with a letter");
export const pluginVersion = z.string().max(100);

const pluginStates = [
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
    id: pluginId,
    version: pluginVersion.nullable().describe("Active version; null until a version is approved."),
    title: z.string().nullable(),
    about: z.string().nullable(),
    kinds: z.array(z.string()),
    tools: z.array(z.string()).describe("Qualified names of its tools."),
    sources: z.array(z.string()),
    routes: z
      .array(z.object({ path: z.string(), method: z.string(), scope: z.string(), about: z.string() }).meta({ id: "PluginRoute" }))
      .describe("The plugin's HTTP routes, each with the scope that an API key needs; `open`: no API key is needed."),
    origin: z
      .enum(["environment", "installed"])
      .meta({ id: "PluginOrigin" })
      .describe("How the plugin was installed. `environment`: it is listed in `SIGNALBOX_PLUGINS` and therefore approved."),
    tier: z
      .enum(["sandbox", "in_process"])
      .meta({ id: "PluginTier" })
      .describe(
        "Where the plugin runs. `in_process`: in the service's process, without a sandbox, because it is listed in `SIGNALBOX_TRUSTED_PLUGINS`.",
      ),
    state: z
      .enum(pluginStates)
      .meta({ id: "PluginState" })
      .describe(
        "The plugin's state. `installed`: waiting for approval; `approved`: not enabled. The other states describe its process on the replica that responds. `degraded`: running, but it crashed within the last ten minutes; `backoff`: waiting to be restarted; `quarantined`: stopped after repeated crashes until it is enabled again.",
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
      .describe("The plugin's permissions: those in its manifest, except those in `denied`."),
    denied: z
      .array(z.string())
      .describe("Permissions in its manifest that PUT /api/plugins/{id}/permissions has denied, in words."),
    needs: z.array(z.string()).describe("Capabilities that the plugin receives from the host."),
    settings: z
      .array(
        z
          .object({
            name: z.string(),
            title: z.string().nullable(),
            secret: z.boolean().describe("Whether the value is a credential: forms hide it while it is entered."),
            injected: z.boolean().describe("Whether the host adds the value to requests, so that the plugin never sees it."),
            set: z.boolean(),
            required: z.boolean().describe("Whether the plugin, or every account of its source, needs the setting."),
            of_account: z
              .boolean()
              .describe(
                "Whether the setting belongs to an account of its source, so that an integration can contain it instead.",
              ),
          })
          .meta({ id: "PluginSetting" }),
      )
      .describe("Settings that PUT /api/plugins/{id}/settings accepts, without their values."),
    waiting: z
      .object({
        version: pluginVersion,
        widens: z.array(z.string()).describe("Permissions that the active version does not have, in words."),
        breaks: z
          .array(z.string())
          .describe("Breaking changes since the active version, in words. Empty if the version number announces them."),
      })
      .meta({ id: "PluginWaiting" })
      .nullable()
      .describe("Newer version waiting for approval; null if there is none."),
    versions: z.array(
      z
        .object({
          version: pluginVersion,
          sha256: z.string(),
          origin: z.string().nullable(),
          integrity: z.string().nullable(),
          publisher: z
            .string()
            .nullable()
            .describe("Publisher of the version: name and registry of its package. An approval is valid for one publisher."),
          rolled_back_at: timestamp
            .nullable()
            .describe("When an operator rolled back from this version; null if not rolled back."),
          approved_at: timestamp.nullable(),
          installed_at: timestamp,
          breaks: z
            .array(z.string())
            .describe(
              "Breaking changes since the version installed before it, in words. Empty if the version number announces them.",
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
