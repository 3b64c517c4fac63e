import { isSecretInAuditLog, isSecretMember } from "../platform/secret-names.ts";
import { mask } from "../platform/settings.ts";

/** Members whose texts are settings of other systems, any of which may be a secret. */
const opaqueName = /^(settings|headers)$/i;

/**
 * A value without its secrets, which are recognised by the names of members and by the shapes of keys and addresses. Numbers and
 * booleans, such as counts of tokens, are kept.
 */
export const maskSecrets = (value: unknown): unknown => maskIn(value, false);

function maskIn(value: unknown, hidden: boolean): unknown {
  if (typeof value === "string") return hidden && value !== "" ? mask : maskedText(value);
  if (Array.isArray(value)) return value.map((item) => maskIn(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    maskIn(member, hidden || isSecretMember(name) || opaqueName.test(name)),
  ]);
  return Object.fromEntries(members);
}

const maskedText = (text: string): string =>
  maskedQueries(text.replaceAll(/\bsbx_[\w-]{43}/g, mask).replaceAll(/(\/\/)[^/\s@]+@/g, `$1${mask}@`));

/**
 * Masks the secret parameters of all queries in a text, including those of an address inside another address. Takes linear time.
 */
function maskedQueries(text: string): string {
  const value = /[^&#\s]+/y;
  let masked = "";
  let from = 0;
  for (const { index, 0: start, 1: name = "" } of text.matchAll(/[?&]([^=&#?\s]+)=/g)) {
    value.lastIndex = index + start.length;
    if (index < from || !isSecretInAuditLog(name) || !value.test(text)) continue;
    masked += text.slice(from, index + start.length) + mask;
    from = value.lastIndex;
  }
  return masked + text.slice(from);
}
