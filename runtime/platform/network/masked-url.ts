import type { Actor } from "../operation.ts";
import { mask } from "../settings.ts";

/** Minimum length of a key; most words in a path are shorter. */
const minKeyLength = 16;

/** An address as the caller may see it. It can contain a key, so only callers that may change it see all of it. */
export const addressFor = ({ scopes }: Pick<Actor, "scopes">, url: string): string =>
  scopes.includes("write") ? url : maskedUrl(url);

/** An address without its login, the values of its query and the long segments of its path. */
export function maskedUrl(text: string): string {
  if (!URL.canParse(text)) return mask;
  const { protocol, username, password, host, pathname, searchParams } = new URL(text);
  const login = username || password ? `${mask}@` : "";
  const path = pathname.split("/").map((part) => (part.length >= minKeyLength ? mask : part));
  // If a query member has no value, its name can be the key.
  const query = [...searchParams].map(([name, value]) => (value === "" ? mask : `${encodeURIComponent(name)}=${mask}`));
  return `${protocol}//${login}${host}${path.join("/")}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}
