import { z } from "zod";
import { parseNetworks } from "./network/networks.ts";

/** Kinds of values of environment variables. */
export const integer = (fallback: number, min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => /^-?\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`,
    )
    .transform(Number)
    .default(fallback);
export const yesNo = (fallback: boolean) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.enum(["true", "false", "1", "0", "yes", "no"]))
    .transform((word) => ["true", "1", "yes"].includes(word))
    .default(fallback);
export const items = z.string().transform((value) =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean),
);
export const list = items.default([]);
export const amount = (fallback: number) =>
  z
    .string()
    .refine((text) => /^\d+(\.\d+)?$/.test(text) && Number(text) <= 1_000_000_000, "must be a number from 0 to 1000000000")
    .transform(Number)
    .default(fallback);
export const minStanding = (fallback: "none" | "collaborator") =>
  z.enum(["owner", "member", "collaborator", "contributor", "none"]).default(fallback);
export const maxTokens = 1_000_000_000_000;
/** A credential that is sent in a header, or that webhooks contain in one. */
export const headerValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, "contains a character that HTTP does not allow in a header; copy it again")
  .optional();
/** The previous secret, which remains valid until the platform uses the new one. */
export const previousSecret = (of: string) =>
  z
    .string()
    .optional()
    .describe(`Previous value of \`${of}\`: webhooks signed with it are still accepted while you update the platform.`);
export const networks = list.refine(
  (networks) => networks.every((one) => isNetwork(one)),
  "must be a comma-separated list of networks such as 10.0.0.0/8 or fd00::/8",
);
/** The base of requests: what follows a `#` would not be sent. */
export const address = z
  .url({ protocol: /^https?$/, error: "must be a URL that begins with http:// or https://", abort: true })
  .refine((url) => !url.includes("#"), "must be a URL without #");

const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
export const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: "must be a postgres:// URL", abort: true })
  .refine(
    (url) => new URL(url).searchParams.getAll("sslmode").every((mode) => sslModes.includes(mode)),
    `sslmode must be ${sslModes.slice(0, -1).join(", ")} or ${sslModes.at(-1)}`,
  );

function isNetwork(text: string): boolean {
  try {
    parseNetworks([text]);
    return true;
  } catch {
    return false;
  }
}

/** 32 bytes, as 64 hexadecimal digits or base64 (also its URL alphabet). */
export const isEncryptionKey = (text: string): boolean =>
  /^[0-9a-f]{64}$/i.test(text) || /^[A-Za-z0-9+/]{43}=?$|^[A-Za-z0-9_-]{43}=?$/.test(text);

/**
 * A value of a template that was not replaced, such as `$API_KEY`, `${API_KEY}` or `<your-key>`: anyone can guess it. A real secret may
 * contain these characters, so only a whole value counts, and after `$` only a name in capitals.
 */
export const isTemplateValue = (text: string): boolean => /^(?:\$[A-Z_][A-Z0-9_]*|\$\{.*\}|<[^<>]*>)$/.test(text);
