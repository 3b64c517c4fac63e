import * as health from "@signalbox/schema/health";
import * as integrations from "@signalbox/schema/integrations";
import type { Operation } from "@signalbox/schema/operation";
import * as plugins from "@signalbox/schema/plugins";
import type { z } from "zod";
import { amountText } from "../../platform/amount-text.ts";
import { UsageError } from "../arguments.ts";
import { type Command, type Given, usageOf } from "../command.ts";
import { asJson, onOneLine, tableOf } from "../output.ts";
import { callerOf, namedService, RequestError } from "../request.ts";
import type { Terminal } from "../terminal.ts";
import { approve, install, rollback, upgrade } from "./change-version.ts";
import { removeLocked } from "./lock.ts";
import {
  healthLine,
  isolationText,
  missingLayers,
  permissionsText,
  pluginProblems,
  singleLine,
  waitingLine,
} from "./messages.ts";
import { type OperatorCommand, type OperatorContext, type PluginEntity, requireId } from "./operator-context.ts";
import { search } from "./search.ts";

/** Runs a command that sends requests to the service at SIGNALBOX_URL. */
export const runOperator = (verb: keyof typeof operator, given: Given, terminal: Terminal, command: Command) =>
  operator[verb](given, { ...terminal, call: callerOf(namedService(), terminal.out), usage: usageOf(command) });

/** The commands for operators, by verb. */
const operator = {
  search,
  install,
  approve,
  upgrade,
  rollback,
  list: async (given, context) => {
    requireNoArguments(given, context.usage);
    const all = await context.call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const columns = ["id", "version", "state", "code", "tier", "kinds", "title"];
    context.out(context.interactive ? tableOf(columns, all, context.columns) : asJson(all));
    return 0;
  },
  info: async (given, context) => {
    context.out(asJson(await context.call(plugins.get, { id: requireId(given, context.usage) })));
    return 0;
  },
  permissions: async (given, { call, out, usage }) => {
    const { narrow } = given.texts;
    const name = requireId(given, usage);
    if (narrow === undefined) out(permissionsText(await call(plugins.get, { id: name })));
    else out(permissionsText(await call(plugins.updatePermissions, { ...wantedOf(narrow, usage), id: name })));
    return 0;
  },
  configure: async (given, { call, out, read, usage }) => {
    const name = requireId(given, usage);
    const text = given.texts.settings;
    if (text === undefined) throw new UsageError(usage);
    const json = text === "-" || text.startsWith("@") ? await read(text) : text;
    out(asJson(await call(plugins.configure, { id: name, settings: settingsIn(json) })));
    return 0;
  },
  enable: (given, context) => change(plugins.enable, requireId(given, context.usage), context),
  disable: async (given, { call, out, usage }) => {
    const { id: name, version } = await call<PluginEntity>(plugins.disable, { id: requireId(given, usage) });
    out(
      version === null
        ? `${name} does not run: none of its versions is approved.\n`
        : `${name} is stopped. Its approval is kept.\n`,
    );
    return 0;
  },
  remove: async (given, { call, out, usage }) => {
    const name = requireId(given, usage);
    try {
      await call(plugins.remove, { id: name });
      removeLocked(name);
    } catch (error) {
      // An earlier removal may have left it in the lock file.
      const isGone = error instanceof RequestError && error.status === 404;
      if (!isGone || !removeLocked(name)) throw error;
    }
    out(`${name} is removed.\n`);
    return 0;
  },
  doctor: async (given, { call, out, usage }) => {
    requireNoArguments(given, usage);
    const installedPlugins = await call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const refusedPlugins = await call<{ name: string; code: string; reason: string }[]>(plugins.refused);
    const { required, layers } = await call<z.output<typeof plugins.isolation.output>>(plugins.isolation);
    out(isolationText(layers));
    const { deferred_webhooks = [] } = await call<z.output<typeof health.get.output>>(health.get);
    const accounts = await call<{ source: string }[]>(integrations.list, { limit: 1000 });
    const hasAccount = ({ sources }: PluginEntity) => accounts.some(({ source }) => sources.includes(source));
    const complaints = [
      ...(required ? missingLayers(layers) : []),
      ...installedPlugins.flatMap((one) => pluginProblems(one, hasAccount(one))),
      ...deferred_webhooks.map(waitingLine),
      ...refusedPlugins
        .filter(({ name }) => !installedPlugins.some((one) => one.id === name))
        .map(({ name, code, reason }) => `${singleLine(name)}: ${code}: ${singleLine(reason)}`),
    ];
    for (const one of installedPlugins) out(healthLine(one));
    for (const one of complaints) out(`problem: ${one}\n`);
    out(
      complaints.length === 0
        ? `${amountText(installedPlugins.length, "plugin")}, no problems\n`
        : `${amountText(complaints.length, "problem")}\n`,
    );
    return complaints.length === 0 ? 0 : 1;
  },
  logs: async (given, { call, out, usage }) => {
    const { lines } = await call<{ lines: { time: string; message: string; fields: object }[] }>(plugins.logs, {
      id: requireId(given, usage),
    });
    for (const { time, message, fields } of lines) {
      const more = Object.keys(fields).length > 0 ? ` ${onOneLine(fields)}` : "";
      out(`${time} ${onOneLine(message).slice(1, -1)}${more}\n`);
    }
    return 0;
  },
} satisfies Record<string, OperatorCommand>;

function requireNoArguments({ positionals }: Given, usage: string): void {
  if (positionals.length > 0) throw new UsageError(usage);
}

function settingsIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError("--settings: must be a JSON object, @file, or - for standard input");
  }
}

/** `api.example.com:GET,api.example.com:POST`, or JSON in the format of PUT /api/plugins/{id}/permissions. */
function wantedOf(text: string, usage: string): Record<string, unknown> {
  const usageError = (what: string) => new UsageError(`--narrow: ${what}. ${usage}`);
  if (text.trim().startsWith("{")) {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      throw usageError("is not valid JSON");
    }
  }
  const pairs = text.split(",").map((pair) => {
    const [, host, method] = /^\s*(\S+):([A-Za-z]+)\s*$/.exec(pair) ?? [];
    if (host === undefined || method === undefined) throw usageError(`${JSON.stringify(pair)} is not host:METHOD`);
    return { host, method: method.toUpperCase() };
  });
  const hosts = Map.groupBy(pairs, ({ host }) => host);
  return { http: [...hosts].map(([host, all]) => ({ host, methods: all.map(({ method }) => method) })) };
}

async function change(op: Operation, name: string, { call, out }: OperatorContext): Promise<number> {
  const changed = await call<PluginEntity>(op, { id: name });
  out(`${changed.id} is ${changed.state}.\n`);
  return 0;
}
