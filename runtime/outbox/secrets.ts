import type { Config } from "../platform/config.ts";
import { secretsInUrl } from "../platform/network/url-secrets.ts";
import { isSecretSetting } from "../platform/secret-names.ts";
import type { Connection } from "../plugins/connections.ts";
import type { StoredAddress } from "../stored-secrets/queries.ts";
import type { OpenedSecret } from "../stored-secrets/stored-secrets.ts";
import { type KnownSecret, SecretFinder } from "./secret-finder.ts";

/** Variables that are named like secrets, but whose value is a path. */
const paths = new Set(["GRPC_TLS_KEY"]);

/** The secrets in the environment: variables by their names, and those in URLs. */
export function configSecrets(config: Config): KnownSecret[] {
  return Object.entries(config).flatMap(([name, value]) => {
    if (typeof value === "function" || paths.has(name)) return [];
    const values = (Array.isArray(value) ? value : [value]).filter((one): one is string => typeof one === "string");
    const named = isSecretSetting(name) ? values.map((one) => ({ name, value: one })) : [];
    const bytes = name === "ENCRYPTION_KEY" ? values.flatMap((one) => otherForms(name, one)) : [];
    return [...named, ...bytes, ...values.flatMap((one) => inUrl(name, one))];
  });
}

/** A key is recognised in hexadecimal and in base64. */
function otherForms(name: string, key: string): KnownSecret[] {
  const bytes = Buffer.from(key, /^[0-9a-f]{64}$/i.test(key) ? "hex" : "base64");
  return [bytes.toString("hex"), bytes.toString("base64")].map((value) => ({ name, value }));
}

/** The secrets of the accounts at trackers. */
export const connectionSecrets = (connections: readonly Connection[]): KnownSecret[] =>
  connections.flatMap(({ id, source, settings, rawSettings }) => {
    const label = (member: string) => `${member} of ${source.name}${id === "environment" ? "" : ` (integration ${id})`}`;
    const previous = Object.entries(rawSettings).filter(([member]) => /_previous$/.test(member));
    return [...Object.entries(settings), ...previous].flatMap(([member, value]) => {
      if (typeof value !== "string") return [];
      const isSecret = (source.adapter.secrets as readonly string[]).includes(member.replace(/_previous$/, ""));
      return isSecret ? [{ name: label(member), value }] : inUrl(label(member), value);
    });
  });

/** The secrets among the settings of a plugin. */
export const settingSecrets = (plugin: string, settings: Readonly<Record<string, string>>): KnownSecret[] =>
  Object.entries(settings).flatMap(([name, value]) =>
    isSecretSetting(name) ? [{ name: `${name} of the plugin ${plugin}`, value }] : inUrl(name, value),
  );

/**
 * Everything that is stored encrypted. Credentials and settings also contain values that are not secret; all other encrypted
 * values are secrets.
 */
export const storedSecrets = (opened: readonly OpenedSecret[]): KnownSecret[] =>
  opened.flatMap(({ kind, name, member, value }) => {
    const label = `${member ?? "secret"} of the ${kind} ${name}`;
    const isMixed = kind === "integration" || kind === "plugin";
    return member === null || !isMixed || isSecretSetting(member) ? [{ name: label, value }] : inUrl(label, value);
  });

const inUrl = (name: string, value: string): KnownSecret[] =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? secretsInUrl(value).map((one) => ({ name: `secret in ${name}`, value: one })) : [];

/** The secrets in addresses that are stored unencrypted: those of tools and of MCP servers. */
export const addressSecrets = (addresses: readonly StoredAddress[]): KnownSecret[] =>
  addresses.flatMap(({ owner, url }) => inUrl(`the address of ${owner}`, url));

/**
 * The finder of the current secrets. `parts`: the objects that contain them. They are never changed in place, so the finder is
 * created again only if one was replaced, and for each text only references are compared.
 */
export function secretsFinder(parts: () => readonly object[], read: () => readonly KnownSecret[]): () => SecretFinder {
  let lastParts: readonly object[] | null = null;
  let finder = new SecretFinder([]);
  return () => {
    const now = parts();
    const isSame = lastParts?.length === now.length && now.every((part, at) => part === lastParts?.[at]);
    if (!isSame) {
      finder = new SecretFinder(read());
      lastParts = now;
    }
    return finder;
  };
}
