import type { z } from "zod";
import { isSecretInConnectionUrl, isSecretVariable } from "./secret-names.ts";

/** A variable with its effective value, as an operator may see it. */
export interface Setting {
  readonly name: string;
  readonly value: string | null;
  readonly default: string | null;
  readonly source: "environment" | "file" | "default";
  readonly secret: boolean;
  readonly about: string;
}

/** Shown instead of a secret. */
export const mask = "********";

interface SetVariables {
  /** Names of the environment variables that are not empty. */
  readonly environment: ReadonlySet<string>;
  /** Environment and `.env` together. */
  readonly values: Readonly<Record<string, string>>;
}

/** Every variable in the order of declaration, then the settings of plugins. */
export function settingsOf(
  variables: Readonly<Record<string, z.ZodType>>,
  parsed: Readonly<Record<string, unknown>>,
  setVariables: SetVariables,
): Setting[] {
  const ownSettings = Object.entries(variables).map(([name, schema]): Setting => {
    const value = textOf(parsed[name]);
    const about = schema.description ?? "";
    return { name, ...maskedValue(name, value), default: textOf(defaultOf(schema)), source: sourceOf(name, setVariables), about };
  });
  const ofPlugins = Object.keys(setVariables.values).filter((name) => /^PLUGIN_.*__/.test(name));
  // The name of a plugin's setting does not show whether it is secret.
  const pluginSettings = ofPlugins.sort().map((name): Setting => {
    return {
      name,
      value: mask,
      default: null,
      source: sourceOf(name, setVariables),
      secret: true,
      about: "Setting of a plugin.",
    };
  });
  return [...ownSettings, ...pluginSettings];
}

/** The default of a variable; `undefined` if it has none. */
function defaultOf(schema: z.ZodType): unknown {
  const empty = schema.safeParse(undefined);
  return empty.success ? empty.data : undefined;
}

const sourceOf = (name: string, { environment, values }: SetVariables): Setting["source"] =>
  environment.has(name) ? "environment" : name in values ? "file" : "default";

/** Database URLs are shown without credentials, so that an operator can identify the database. */
function maskedValue(name: string, value: string | null): Pick<Setting, "value" | "secret"> {
  const isUrl = value !== null && /^[a-z][a-z+]*:\/\//i.test(value);
  if (isUrl) return { value: withoutCredentials(value), secret: false };
  const secret = isSecretVariable(name);
  return { value: secret && value !== null ? mask : value, secret };
}

function withoutCredentials(address: string): string {
  if (!URL.canParse(address)) return mask;
  const url = new URL(address);
  if (url.username || url.password) [url.username, url.password] = [mask, ""];
  for (const name of new Set(url.searchParams.keys())) if (isSecretInConnectionUrl(name)) url.searchParams.set(name, mask);
  return url.href;
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.length === 0 ? null : value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
