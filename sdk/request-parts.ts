import { PluginError } from "./errors.ts";

/** Whitespace that `fetch` removes from a header. */
const edges = /^[\t\n\r ]+|[\t\n\r ]+$/g;

/**
 * Throws `unauthorized` if a header has a character that HTTP does not allow, for example a token that was copied with an ellipsis.
 * `fetch` would report it as a failed connection, which is repeated.
 */
export function checkHeaders(platform: string, headers: Readonly<Record<string, string>>): void {
  const wrong = Object.entries(headers).find(([, value]) => /[^\t -~\x80-\xff]/.test(value.replace(edges, "")));
  if (!wrong) return;
  throw new PluginError(
    "unauthorized",
    `${platform}: the header ${wrong[0]} has a character that HTTP does not allow; check the token`,
  );
}

/** Encodes a value for a URL. Throws `invalid_input` if it contains half of a surrogate pair, which a URL cannot contain. */
export function encodeForUrl(platform: string, name: string, value: string | number | boolean): string {
  const text = String(value);
  if (!text.isWellFormed())
    throw new PluginError(
      "invalid_input",
      `${platform}: the value of "${name}" has half of a surrogate pair, which no URL can contain`,
    );
  return encodeURIComponent(text);
}
