import { z } from "zod";
import { address } from "./config-values.ts";
import { type Environment, parse, readEnvironment, withPrefix } from "./environment.ts";
import { type Fingerprints, fingerprintsOf } from "./fingerprints.ts";
import { type MistypedVariable, mistypedIn } from "./mistyped.ts";
import { type Proxies, proxiesIn } from "./network/proxies.ts";
import { type Setting, settingsOf } from "./settings.ts";
import { service } from "./variables/service.ts";
import { trackers } from "./variables/trackers.ts";
import { trust } from "./variables/trust.ts";
import { work } from "./variables/work.ts";

/** Every environment variable of the service: schema, default and description. `configuration.md` is generated from it. */
export const variables = { ...service, ...work, ...trust, ...trackers } as const satisfies Record<string, z.ZodType>;

/** Environment variables of the command-line client. */
export const clientVariables = {
  SIGNALBOX_URL: address.default("http://127.0.0.1:8000").describe("Base URL of the service."),
  SIGNALBOX_API_KEY: z
    .string()
    .regex(/^[\x21-\x7e]+$/, "contains a space or a character that is not ASCII, so it is no API key")
    .optional()
    .describe("API key for the service."),
} as const satisfies Record<string, z.ZodType>;
const clientSchema = z.object(clientVariables);

export type Variable = keyof typeof variables;
const schema = z.object(variables);
type ParsedVariables = Readonly<z.output<typeof schema>>;

/** The parsed variables by their own names, and values derived from groups of them. */
export interface Config extends ParsedVariables {
  /** Raw settings of a plugin's default connection, from `<ID>_<SETTING>`: `ALPHA_API_URL` is `api_url` of alpha. */
  readonly variablesOf: (plugin: string) => Readonly<Record<string, string>>;
  /**
   * Settings of a third-party plugin, from `PLUGIN_<ID>__<SETTING>`. Two underscores end the id: with one, `acme` could read the
   * variable `PLUGIN_ACME_CORP_TOKEN` of `acme-corp`.
   */
  readonly pluginSettingsOf: (plugin: string) => Readonly<Record<string, string>>;
  /** Variables that begin with `PLUGIN_` but are ignored, because they do not contain two underscores in a row. */
  readonly unusedPluginVariables: readonly string[];
  /** Variables that are probably misspelled. */
  readonly mistypedVariables: readonly MistypedVariable[];
  /** Every variable with its value in effect, without secrets. */
  readonly settings: readonly Setting[];
  /** Digests of the settings that all replicas should share. */
  readonly fingerprints: Fingerprints;
  /** The proxies of requests to models and trackers; `null` unless `NODE_USE_ENV_PROXY` is set. */
  readonly proxies: Proxies | null;
  /** Standard error is a terminal, and neither NO_COLOR nor CI is set. */
  readonly terminal: boolean;
  /** Whether `npm start` started it and is its parent. */
  readonly startedByNpm: boolean;
}

export { ConfigError } from "./environment.ts";

/** The service cannot start, for a reason that the operator can fix. The message is one line. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Reads `.env`, if it exists, and the environment, which takes precedence. Throws a `ConfigError` with one line per problem. */
export function readConfig(environment: Environment = process.env, file = ".env"): Config {
  const values = readEnvironment(environment, file);
  const parsed = parse(schema, { ...uncheckedLimit(values), ...values });
  const setVariables = {
    environment: new Set(Object.keys(environment).filter((name) => environment[name]?.trim())),
    values,
  };
  return Object.freeze({
    ...parsed,
    settings: settingsOf(variables, parsed, setVariables),
    fingerprints: fingerprintsOf({ ...parsed, ...pluginVariables(values) }),
    variablesOf: (plugin: string) => withPrefix(values, `${plugin.toUpperCase().replaceAll("-", "_")}_`),
    pluginSettingsOf: (plugin: string) => withPrefix(values, `PLUGIN_${plugin.toUpperCase().replaceAll("-", "_")}__`),
    unusedPluginVariables: Object.keys(values).filter((name) => name.startsWith("PLUGIN_") && !/__|^PLUGIN_WALLS$/.test(name)),
    mistypedVariables: mistypedIn(Object.keys(values), [...Object.keys(variables), ...Object.keys(clientVariables)]),
    proxies: parsed.NODE_USE_ENV_PROXY ? proxiesIn(values) : null,
    terminal: process.stderr.isTTY === true && !values.CI,
    startedByNpm: environment.npm_package_name === "signalbox" && /^start\b/.test(environment.npm_lifecycle_event ?? ""),
  });
}

/** Deno's `fetch` reads its proxies from the environment of the process, at its first request. They may come from `.env`. */
export function setProxiesOfDeno({ httpProxy, httpsProxy, noProxy }: Proxies): void {
  const values = { HTTP_PROXY: httpProxy, HTTPS_PROXY: httpsProxy, NO_PROXY: noProxy };
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) for (const spelling of [name, name.toLowerCase()]) process.env[spelling] = value;
}

const pluginVariables = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => /^PLUGIN_.*__/.test(name)));

/** Reads the configuration of the command line, which needs no settings of the service. */
export const readClientConfig = (): z.output<typeof clientSchema> => parse(clientSchema, readEnvironment(process.env, ".env"));

/** Whether the user has named the service that the command line calls. */
export const isServiceNamed = (): boolean => readEnvironment(process.env, ".env").SIGNALBOX_URL !== undefined;

/** If MAX_WEBHOOK_BYTES is set, it applies to every webhook. */
const uncheckedLimit = ({ MAX_WEBHOOK_BYTES: limit }: Readonly<Record<string, string>>) =>
  variables.MAX_WEBHOOK_BYTES.safeParse(limit).success && limit !== undefined ? { MAX_UNCHECKED_WEBHOOK_BYTES: limit } : {};
