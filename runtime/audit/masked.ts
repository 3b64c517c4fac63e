import { isSecretMember, isSecretParameter } from "../platform/secret-names.ts";
import { mask } from "../platform/settings.ts";

/** Members whose texts are settings of others, any of which may be a secret. */
const opaqueName = /^(settings|headers)$/i;

/**
 * A value without its secrets: by the names of members, and by what keys and addresses look like. Numbers and booleans, such as
 * counts of tokens, stay.
 */
export const masked = (value: unknown): unknown => mapped(value, false);

function mapped(value: unknown, hidden: boolean): unknown {
  if (typeof value === "string") return hidden && value !== "" ? mask : maskedText(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [
    name,
    mapped(member, hidden || isSecretMember(name) || opaqueName.test(name)),
  ]);
  return Object.fromEntries(members);
}

const maskedText = (text: string): string =>
  text
    .replaceAll(/\bsbx_[\w-]{43}/g, mask)
    .replaceAll(/(\/\/)[^/\s@]+@/g, `$1${mask}@`)
    .replaceAll(/([?&]([^=&#?\s]+)=)[^&#\s]+/g, (whole, before: string, name: string) =>
      isSecretParameter(name) || isSecretMember(name) ? before + mask : whole,
    );
