import { createHmac, randomBytes } from "node:crypto";
import { sha256Of } from "./digest.ts";
import { isSecretVariable } from "./secret-names.ts";

/** Digests of settings by name, to compare them between replicas without storing their values. */
export type Fingerprints = Readonly<Record<string, string>>;

/** Settings that depend on the replica: its addresses, its machine, its role. */
const ofReplica =
  /^(?:PORT|GRPC_.*|HOST|DATABASE_.*|DIRECT_DATABASE_URL|DATA_DIR|REDIS_URL|SIGNALBOX_(?:ROLE|DENO)|MAX_.*|LOG_.*|METRICS_OPEN|OTEL_.*|NODE_.*|WORKER_CONCURRENCY|PLUGIN_WALLS)$/;

const keyName = "ENCRYPTION_KEY";
const length = 8;

/**
 * The digests of the settings that all replicas should share. They depend on ENCRYPTION_KEY, so that a copy of the database does
 * not help to guess a secret. Without that key, a secret has no digest, only a mark that it is set. Empty lists count as not set.
 */
export function fingerprintsOf(settings: Readonly<Record<string, unknown>>): Fingerprints {
  const shared = Object.entries(settings).filter(([name, value]) => isSet(value) && !ofReplica.test(name));
  const key = isSet(settings[keyName]) ? textOf(settings[keyName]) : null;
  const fingerprintOf = (name: string, text: string) => {
    if (key !== null) return keyedDigest(key, `${name} ${text}`, length);
    return mayHoldSecret(name, text) ? "set" : sha256Of(text).slice(0, length);
  };
  return Object.fromEntries(shared.map(([name, value]) => [name, fingerprintOf(name, textOf(value))]));
}

const keyedDigest = (key: string, text: string, digits: number): string =>
  createHmac("sha256", key).update(text).digest("hex").slice(0, digits);

/**
 * A text in place of a person's name. With a key, it is the same for each spelling in capital and small letters, and the name cannot
 * be guessed without the key. If there is no key, it is random, because few names exist and each could be tried.
 */
export function pseudonymOf(name: string, key: string | undefined): string {
  if (key) return `hmac-sha256:${keyedDigest(key, `person ${name.toLowerCase()}`, 16)}`;
  return `random:${randomBytes(8).toString("hex")}`;
}

const isSet = (value: unknown): boolean => value != null && !(Array.isArray(value) && value.length === 0);

/** The name of a plugin's setting does not show whether it is secret. An address can contain a password or a key. */
const mayHoldSecret = (name: string, text: string): boolean =>
  isSecretVariable(name) || name.startsWith("PLUGIN_") || /:\/\/[^/]*@|:\/\/.*\?/.test(text);

/** The names of the settings that are not the same in all of these. With different keys, no other setting can be compared. */
export function differences(all: readonly Fingerprints[]): string[] {
  const differs = (name: string) => new Set(all.map((one) => one[name])).size > 1;
  if (differs(keyName)) return [keyName];
  return [...new Set(all.flatMap((one) => Object.keys(one)))].filter(differs).sort();
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value, keyBytes) ?? ""));

const keyBytes = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
