import { type Capabilities, type Json, PluginError } from "@signalbox/sdk";
import { isGrantable, type Manifest } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { storable, storableText } from "../../platform/json.ts";
import type { Log } from "../../platform/log.ts";
import type { LogTail } from "../log-tail.ts";
import { TokenBucket } from "./limits.ts";
import type { Serve } from "./peer.ts";
import { readParams } from "./read-params.ts";
import { serveTcp } from "./serve-tcp.ts";

/** What the host does for a sandboxed plugin. */
interface HostCapabilities
  extends Partial<Pick<Capabilities, "tcp" | "secret" | "embed" | "operations" | "trackers" | "throttle">> {
  readonly fetch?: (request: unknown, signal: AbortSignal) => Promise<unknown>;
}
type AllowedAccess = Pick<Manifest, "needs" | "permissions">;

const nameShape = z.object({ name: z.string().max(100) });
const texts = z.object({ texts: z.array(z.string().max(100_000)).max(256) });
const operation = z.object({
  id: z.string().max(100),
  on_behalf_of: z
    .string()
    .regex(/^[\w.@:+-]{1,100}$/, "must be an id of letters, digits and ._@:+-")
    .optional(),
});
/** Any JSON value, because it was parsed from a line. */
const input = z.object({ input: z.record(z.string(), z.custom<Json>()).default({}) });
const key = z.string().min(1).max(200);
const newIssue = z.object({
  source: z.string().max(100),
  issue: z.object({ project: z.string().max(1_000), title: z.string().max(1_000), body: z.string().max(200_000) }),
  key,
});
const oldIssue = z.object({
  source: z.string().max(100),
  issue: z.object({ project: z.string().max(1_000), key: z.string().max(1_000) }),
  key,
});

const namedProject = z.object({ source: z.string().max(100), name: z.string().max(1_000), key });
/** Maximum: a day. */
const ms = z.number().nonnegative().max(86_400_000);
const start = z.object({ key, interval: ms });
const holdShape = z.object({ key, ms });

/** Answers a plugin's requests to the host, if the operator approved the permissions for them. */
export function serveCapabilities(name: string, access: AllowedAccess, capabilities: HostCapabilities): Serve {
  const answers: Readonly<Record<string, (params: unknown, signal: AbortSignal) => Promise<unknown> | undefined>> = {
    fetch: (params, signal) => capabilities.fetch?.(params, signal),
    secret: (params) => capabilities.secret?.(readParams(nameShape, params).name),
    embed: (params) => capabilities.embed?.(readParams(texts, params).texts),
    operations: (params) => {
      const { id, on_behalf_of } = readParams(operation, params);
      if (!access.permissions.operations.some((one) => one.id === id))
        throw new PluginError("failed", `The plugin ${name} cannot call ${id}: its manifest does not name it.`);
      if (!isGrantable(id)) throw new PluginError("failed", `The plugin ${name} cannot call ${id}: no plugin can.`);
      // The host sets the name of the plugin, so no plugin can pretend to be another plugin or an API key.
      const caller = on_behalf_of === undefined ? name : `${name}:${on_behalf_of}`;
      return capabilities.operations?.call(id, readParams(input, params).input, { on_behalf_of: caller });
    },
    "trackers.createIssue": (params, signal) => {
      const { source, issue, key } = readParams(newIssue, params);
      return capabilities.trackers?.createIssue(source, issue, { key, signal });
    },
    "trackers.closeIssue": (params, signal) => {
      const { source, issue, key } = readParams(oldIssue, params);
      return capabilities.trackers?.closeIssue(source, issue, { key, signal });
    },
    "trackers.projectId": (params, signal) => {
      const { source, name: project, key } = readParams(namedProject, params);
      return capabilities.trackers?.projectId(source, project, { key, signal });
    },
    "throttle.reserve": (params) => {
      const { key, interval } = readParams(start, params);
      return capabilities.throttle?.reserve(`${name}/${key}`, interval);
    },
    "throttle.block": (params) => {
      const { key, ms } = readParams(holdShape, params);
      return capabilities.throttle?.block(`${name}/${key}`, ms).then(() => null);
    },
    ...(capabilities.tcp && serveTcp(capabilities.tcp)),
  };
  return async (method, params, signal) => {
    const need = method.split(".")[0] as string;
    const answer = Object.hasOwn(answers, method) ? answers[method] : undefined;
    if (!answer || !access.needs.includes(need))
      throw new PluginError(
        "failed",
        `The plugin ${name} has no capability ${need.slice(0, 100)}: its manifest does not name it.`,
      );
    const result = answer(params, signal);
    if (result === undefined) throw new PluginError("unavailable", `This host does not offer ${need}.`);
    return result;
  };
}

const line = z.object({ message: z.string(), fields: z.record(z.string(), z.custom<Json>()).catch({}) });

/** Logs a plugin's lines, truncated and rate-limited. */
export function logLines(name: string, log: Log, tail: LogTail): (method: string, params: unknown) => void {
  const allowance = new TokenBucket({ burst: 200, perSecond: 20 });
  return (method, params) => {
    if (method !== "log" || !allowance.take(1)) return;
    const parsed = line.safeParse(params);
    if (!parsed.success) return;
    const fields = JSON.stringify(parsed.data.fields);
    const limitedFields: Readonly<Record<string, Json>> =
      fields.length > 4_000 ? { cut: fields.slice(0, 4_000) } : parsed.data.fields;
    const message = storableText(parsed.data.message.slice(0, 2_000));
    log.info(message, { fields: limitedFields, plugin: name });
    tail.add(name, message, storable(limitedFields));
  };
}
