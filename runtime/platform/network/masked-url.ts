import type { Actor } from "../operation.ts";
import { mask } from "../settings.ts";

/** A key has at least so many characters; most words in a path have fewer. */
const minKeyLength = 16;

/** An address as the caller may see it: whole only for those who may change it, because it can contain a key. */
export const addressFor = ({ scopes }: Pick<Actor, "scopes">, url: string): string =>
  scopes.includes("write") ? url : maskedUrl(url);

/** An address without its login, the values of its query and the long segments of its path. */
export function maskedUrl(text: string): string {
  if (!URL.canParse(text)) return mask;
  const { protocol, username, password, host, pathname, searchParams } = new URL(text);
  const login = username || password ? `${mask}@` : "";
  const path = pathname.split("/").map((part) => (part.length >= minKeyLength ? mask : part));
  // The name of a member without a value can be the key.
  const query = [...searchParams].map(([name, value]) => (value === "" ? mask : `${encodeURIComponent(name)}=${mask}`));
  return `${protocol}//${login}${host}${path.join("/")}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}
