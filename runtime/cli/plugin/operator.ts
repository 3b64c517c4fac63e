import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import * as health from "@signalbox/schema/health";
import * as integrations from "@signalbox/schema/integrations";
import type { Operation } from "@signalbox/schema/operation";
import * as plugins from "@signalbox/schema/plugins";
import semver from "semver";
import type { z } from "zod";
import { readClientConfig } from "../../platform/config.ts";
import { UsageError } from "../arguments.ts";
import { asJson, onOneLine, tableOf } from "../output.ts";
import { request } from "../request.ts";
import type { Terminal } from "../run.ts";
import { type Fetched, fetchPackage } from "./fetch-package.ts";
import { checkLocked, lockFile, readLock, removeLocked, saveLocked } from "./lock.ts";
import {
  breakingChangesText,
  healthLine,
  isolationText,
  missingLayers,
  permissionsText,
  problemsOf,
  singleLine,
  waitingLine,
} from "./messages.ts";
import { PackageError } from "./package-error.ts";
import { search } from "./search.ts";
import { type operatorVerbs, pluginHelp, usageOf } from "./verbs.ts";

export type PluginEntity = z.output<typeof plugins.plugin>;
type Name = keyof typeof operatorVerbs;
interface Around extends Terminal {
  /** Asks the service. */
  call<T>(op: Operation, input?: Readonly<Record<string, unknown>>): Promise<T>;
}
type Verb = (args: readonly string[], around: Around) => Promise<number>;

/** A verb that asks the service that SIGNALBOX_URL names. */
export async function runOperator(name: string | undefined, args: readonly string[], terminal: Terminal): Promise<number> {
  const run = Object.hasOwn(verbs, name ?? "") ? verbs[name as Name] : undefined;
  if (!run) {
    const what = name === undefined ? "missing verb" : `unknown verb ${JSON.stringify(name)}`;
    throw new UsageError(`plugin: ${what}\n\n${pluginHelp()}`);
  }
  const { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: apiKey } = readClientConfig();
  const call = async <T>(op: Operation, input: Readonly<Record<string, unknown>> = {}) =>
    (await request(op, input, { url, apiKey }, terminal.out)).value as T;
  return run(args, { ...terminal, call });
}

const verbs: Record<Name, Verb> = {
  search: (args, around) => search(args, around),
  install: async (args, around) => {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { approve: { type: "boolean" } },
      allowPositionals: true,
    });
    const sources = positionals.length > 0 ? positionals : Object.values(readLock().plugins).map(({ source }) => source);
    if (sources.length === 0)
      throw new UsageError(`Usage: signalbox plugin ${usageOf("install")}; without an argument, what ${lockFile} holds.`);
    for (const source of sources) await install(await fetchPackage(source), values.approve === true, around);
    return 0;
  },
  list: async (args, around) => {
    none(args, "list");
    const all = await around.call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const columns = ["id", "version", "state", "code", "tier", "kinds", "title"];
    around.out(around.interactive ? tableOf(columns, all, around.columns) : asJson(all));
    return 0;
  },
  info: async (args, around) => {
    around.out(asJson(await around.call(plugins.get, { id: id(args, "info") })));
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
  approve: async ([name, version, ...more], around) => {
    if (name === undefined || more.length > 0) throw new UsageError(`Usage: signalbox plugin ${usageOf("approve")}`);
    const before = await around.call<PluginEntity>(plugins.get, { id: name });
    around.out(permissionsText(before) + breakingChangesText(before, version ?? before.versions.at(-1)?.version ?? ""));
    return approve(name, version, around);
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
  enable: (args, around) => change(plugins.enable, id(args, "enable"), around),
  disable: async (args, { call, out }) => {
    const { id: name, version } = await call<PluginEntity>(plugins.disable, { id: id(args, "disable") });
    out(
      version === null
        ? `No version of ${name} was approved, so it does not run.\n`
        : `${name} is stopped; it keeps its approval.\n`,
    );
    return 0;
  },
  upgrade: async (args, around) => {
    const given = id(args, "upgrade");
    const source = await newest(given, around);
    const fetched = await fetchPackage(source);
    // First, because an upgrade of a plugin that is not installed would install it.
    const { version: serving } = await around.call<PluginEntity>(plugins.get, { id: fetched.manifest.id });
    mustNotBeOlder(fetched.manifest, serving);
    await install(fetched, false, around);
    return 0;
  },
  rollback: async (args, around) => {
    const name = id(args, "rollback");
    const { version, versions } = await around.call<PluginEntity>(plugins.get, { id: name });
    const older = versions.slice(
      0,
      Math.max(
        0,
        versions.findIndex((one) => one.version === version),
      ),
    );
    const before = older.filter(({ approved_at, rolled_back_at }) => approved_at !== null && rolled_back_at === null).at(-1);
    if (version === null)
      throw new PackageError("NO_PACKAGE", `No version of ${name} was approved yet, so there is none to go back from.`);
    if (!before)
      throw new PackageError(
        "NO_PACKAGE",
        `${name} has no approved version before ${version} to go back to; installed: ${versions.map((one) => one.version).join(", ")}.`,
      );
    return approve(name, before.version, around);
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
    const all = await call<PluginEntity[]>(plugins.list, { limit: 1000 });
    const refused = await call<{ name: string; code: string; reason: string }[]>(plugins.refused);
    const { required, layers } = await call<z.output<typeof plugins.isolation.output>>(plugins.isolation);
    out(isolationText(layers));
    const { unread_webhooks = [] } = await call<z.output<typeof health.get.output>>(health.get);
    const accounts = await call<{ source: string }[]>(integrations.list, { limit: 1000 });
    const hasAccount = ({ sources }: PluginEntity) => accounts.some(({ source }) => sources.includes(source));
    const complaints = [
      ...(required ? missingLayers(layers) : []),
      ...all.flatMap((one) => problemsOf(one, hasAccount(one))),
      ...unread_webhooks.map(waitingLine),
      ...refused
        .filter(({ name }) => !all.some((one) => one.id === name))
        .map(({ name, code, reason }) => `${singleLine(name)}: ${code}: ${singleLine(reason)}`),
    ];
    for (const one of all) out(healthLine(one));
    for (const one of complaints) out(`problem: ${one}\n`);
    out(
      complaints.length === 0
        ? `${counted(all.length, "plugin")}, nothing wrong\n`
        : `${counted(complaints.length, "problem")}\n`,
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

function none(args: readonly string[], name: Name): void {
  if (args.length > 0) throw new UsageError(`Usage: signalbox plugin ${usageOf(name)}`);
}
const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function id(args: readonly string[], name: Name): string {
  if (args.length !== 1) throw new UsageError(`Usage: signalbox plugin ${usageOf(name)}`);
  return args[0] as string;
}

function settingsIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError("--settings: must be a JSON object, @file, or - for standard input");
  }
}

/** `api.example.com:GET,api.example.com:POST`, or JSON as PUT /api/plugins/{id}/permissions takes it. */
function wantedOf(text: string): Record<string, unknown> {
  const wrong = (what: string) => new UsageError(`--narrow: ${what}. Usage: signalbox plugin ${usageOf("permissions")}`);
  if (text.trim().startsWith("{")) {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      throw wrong("is not valid JSON");
    }
  }
  const pairs = text.split(",").map((pair) => {
    const [, host, method] = /^\s*(\S+):([A-Za-z]+)\s*$/.exec(pair) ?? [];
    if (host === undefined || method === undefined) throw wrong(`${JSON.stringify(pair)} is not host:METHOD`);
    return { host, method: method.toUpperCase() };
  });
  const hosts = Map.groupBy(pairs, ({ host }) => host);
  return { http: [...hosts].map(([host, all]) => ({ host, methods: all.map(({ method }) => method) })) };
}

async function install(fetched: Fetched, approving: boolean, around: Around): Promise<void> {
  const { manifest, bundle, origin, integrity, publisher, provenance } = fetched;
  checkLocked(fetched);
  const input = {
    manifest,
    bundle: gzipSync(bundle, { level: 9 }).toString("base64"),
    ...{ origin, publisher },
    ...(integrity !== null && { integrity }),
  };
  const stored = await around.call<PluginEntity>(plugins.install, input);
  saveLocked(fetched);
  around.out(
    `${manifest.id} ${manifest.version} from ${origin}\n  sha256 ${manifest.bundle.sha256}\n${integrity === null ? "" : `  ${integrity}\n`}${provenance === undefined ? "" : `  ${singleLine(provenance)}\n`}`,
  );
  around.out(breakingChangesText(stored, manifest.version));
  if (stored.version !== manifest.version && stored.waiting?.version !== manifest.version) {
    if (approving) return void (await approve(manifest.id, manifest.version, around));
    around.out(
      `It was installed before, and ${stored.version ?? "no version"} serves. To change to it: signalbox plugin approve ${manifest.id} ${manifest.version}\n`,
    );
    return;
  }
  if (stored.waiting === null) {
    around.out(`It asks for nothing that was not approved before; it is ${stored.state}.\n`);
    return;
  }
  around.out(permissionsText(stored));
  if (approving) await approve(manifest.id, manifest.version, around);
  else around.out(`Nothing of it has run. To allow this: signalbox plugin approve ${manifest.id}\n`);
}

async function approve(name: string, version: string | undefined, { call, out }: Around): Promise<number> {
  const approved = await call<PluginEntity>(plugins.approve, { id: name, ...(version !== undefined && { version }) });
  out(`${approved.id} ${approved.version} is approved and ${approved.state}.\n`);
  return 0;
}

async function change(op: Operation, name: string, { call, out }: Around): Promise<number> {
  const changed = await call<PluginEntity>(op, { id: name });
  out(`${changed.id} is ${changed.state}.\n`);
  return 0;
}

function mustNotBeOlder({ id, version }: Pick<Fetched["manifest"], "id" | "version">, serving: string | null): void {
  if (serving === null || !semver.lt(version, serving)) return;
  throw new PackageError(
    "OLDER",
    `${id} ${version} is older than ${serving}, which serves; \`signalbox plugin rollback ${id}\` goes back to the version before, \`signalbox plugin install\` takes any.`,
  );
}

/** The id of an installed plugin means the newest version of the package that it came from. */
async function newest(given: string, { call }: Around): Promise<string> {
  const all = await call<PluginEntity[]>(plugins.list, { limit: 1000 });
  const installed = all.find((one) => one.id === given);
  if (!installed) return given;
  const origin = installed.versions.at(-1)?.origin ?? "";
  if (/.@[^@/]+$/.test(origin)) return `${origin.slice(0, origin.lastIndexOf("@"))}@latest`;
  // A package of that name may have another author.
  throw new PackageError(
    "NO_PACKAGE",
    `${given} came from ${origin || "the environment"}, not from a registry; name the tarball, the folder or the package of the newer version.`,
  );
}
