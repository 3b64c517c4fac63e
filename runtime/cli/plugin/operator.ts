import { parseArgs } from "node:util";
import * as health from "@signalbox/schema/health";
import * as integrations from "@signalbox/schema/integrations";
import type { Operation } from "@signalbox/schema/operation";
import * as plugins from "@signalbox/schema/plugins";
import type { z } from "zod";
import { UsageError } from "../arguments.ts";
import { asJson, onOneLine, tableOf } from "../output.ts";
import { callerOf, namedService } from "../request.ts";
import type { Terminal } from "../terminal.ts";
import { approve, install, rollback, upgrade } from "./change-version.ts";
import { removeLocked } from "./lock.ts";
import { healthLine, isolationText, missingLayers, permissionsText, problemsOf, singleLine, waitingLine } from "./messages.ts";
import { id, type OperatorContext, type OperatorVerb, type OperatorVerbName, type PluginEntity } from "./operator-verb.ts";
import { search } from "./search.ts";
import { pluginHelp, usageOf } from "./verbs.ts";

/** A verb that sends requests to the service at SIGNALBOX_URL. */
export async function runOperator(name: string | undefined, args: readonly string[], terminal: Terminal): Promise<number> {
  const run = Object.hasOwn(verbs, name ?? "") ? verbs[name as OperatorVerbName] : undefined;
  if (!run) {
    const what = name === undefined ? "missing verb" : `unknown verb ${JSON.stringify(name)}`;
    throw new UsageError(`plugin: ${what}\n\n${pluginHelp()}`);
  }
  return run(args, { ...terminal, call: callerOf(namedService(), terminal.out) });
}

const verbs: Record<OperatorVerbName, OperatorVerb> = {
  search,
  install,
  approve,
  upgrade,
  rollback,
  list: async (args, context) => {
    none(args, "list");
    const all = await context.call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const columns = ["id", "version", "state", "code", "tier", "kinds", "title"];
    context.out(context.interactive ? tableOf(columns, all, context.columns) : asJson(all));
    return 0;
  },
  info: async (args, context) => {
    context.out(asJson(await context.call(plugins.get, { id: id(args, "info") })));
    return 0;
  },
  permissions: async (args, { call, out }) => {
    const options = { narrow: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const name = id(positionals, "permissions");
    if (values.narrow === undefined) out(permissionsText(await call(plugins.get, { id: name })));
    else out(permissionsText(await call(plugins.updatePermissions, { ...wantedOf(values.narrow), id: name })));
    return 0;
  },
  configure: async (args, { call, out, read }) => {
    const options = { settings: { type: "string" } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const name = id(positionals, "configure");
    const text = values.settings;
    if (text === undefined) throw new UsageError(`Usage: signalbox plugin ${usageOf("configure")}`);
    const json = text === "-" || text.startsWith("@") ? await read(text) : text;
    out(asJson(await call(plugins.configure, { id: name, settings: settingsIn(json) })));
    return 0;
  },
  enable: (args, context) => change(plugins.enable, id(args, "enable"), context),
  disable: async (args, { call, out }) => {
    const { id: name, version } = await call<PluginEntity>(plugins.disable, { id: id(args, "disable") });
    out(
      version === null
        ? `${name} does not run: none of its versions is approved.\n`
        : `${name} is stopped. Its approval is kept.\n`,
    );
    return 0;
  },
  remove: async (args, { call, out }) => {
    const name = id(args, "remove");
    await call(plugins.remove, { id: name });
    removeLocked(name);
    out(`${name} is removed.\n`);
    return 0;
  },
  doctor: async (args, { call, out }) => {
    none(args, "doctor");
    const installedPlugins = await call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const refusedPlugins = await call<{ name: string; code: string; reason: string }[]>(plugins.refused);
    const { required, layers } = await call<z.output<typeof plugins.isolation.output>>(plugins.isolation);
    out(isolationText(layers));
    const { deferred_webhooks = [] } = await call<z.output<typeof health.get.output>>(health.get);
    const accounts = await call<{ source: string }[]>(integrations.list, { limit: 1000 });
    const hasAccount = ({ sources }: PluginEntity) => accounts.some(({ source }) => sources.includes(source));
    const complaints = [
      ...(required ? missingLayers(layers) : []),
      ...installedPlugins.flatMap((one) => problemsOf(one, hasAccount(one))),
      ...deferred_webhooks.map(waitingLine),
      ...refusedPlugins
        .filter(({ name }) => !installedPlugins.some((one) => one.id === name))
        .map(({ name, code, reason }) => `${singleLine(name)}: ${code}: ${singleLine(reason)}`),
    ];
    for (const one of installedPlugins) out(healthLine(one));
    for (const one of complaints) out(`problem: ${one}\n`);
    out(
      complaints.length === 0
        ? `${countText(installedPlugins.length, "plugin")}, no problems\n`
        : `${countText(complaints.length, "problem")}\n`,
    );
    return complaints.length === 0 ? 0 : 1;
  },
  logs: async (args, { call, out }) => {
    const { lines } = await call<{ lines: { time: string; message: string; fields: object }[] }>(plugins.logs, {
      id: id(args, "logs"),
    });
    for (const { time, message, fields } of lines) {
      const more = Object.keys(fields).length > 0 ? ` ${onOneLine(fields)}` : "";
      out(`${time} ${onOneLine(message).slice(1, -1)}${more}\n`);
    }
    return 0;
  },
};

function none(args: readonly string[], name: OperatorVerbName): void {
  if (args.length > 0) throw new UsageError(`Usage: signalbox plugin ${usageOf(name)}`);
}
const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function settingsIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError("--settings: must be a JSON object, @file, or - for standard input");
  }
}

/** `api.example.com:GET,api.example.com:POST`, or JSON in the format of PUT /api/plugins/{id}/permissions. */
function wantedOf(text: string): Record<string, unknown> {
  const usageError = (what: string) => new UsageError(`--narrow: ${what}. Usage: signalbox plugin ${usageOf("permissions")}`);
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
