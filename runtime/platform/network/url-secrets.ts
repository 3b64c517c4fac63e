import { isSecretParameter } from "../secret-names.ts";

/** Shorter values could be ordinary words. */
const minLength = 5;

/** The password of a URL, or if it has none, its user, and the secrets in its query, in each spelling that a text may contain. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams, search } = new URL(text);
  const login = password || username;
  const members = [...searchParams].filter(([name]) => isSecretParameter(name)).map(([, value]) => value);
  const rawValues = search
    .slice(1)
    .split("&")
    .flatMap((pair) => {
      const [name = "", ...value] = pair.split("=");
      return isSecretParameter(name) ? [value.join("=")] : [];
    });
  const all = [login, decode(login), ...members, ...rawValues];
  return [...new Set(all)].filter((one) => one.length >= minLength).sort((a, b) => b.length - a.length);
}

/** A text of the server at `url` without the secrets of that URL, because servers may repeat the request in a response. */
export const withoutUrlSecrets = (text: string, url: string): string =>
  secretsInUrl(url).reduce((safeText, secret) => safeText.replaceAll(secret, "[redacted]"), text);

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
