/** Names of query members that hold a secret, as in `?api_key=` and `?sig=`. */
const secretName = /key|token|secret|sig|passw|auth|credential/i;
/** Shorter values are words as well. */
const shortest = 5;

/** The password of a URL, and the values of query members that are named like secrets, in each spelling that a text may repeat. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, searchParams, search } = new URL(text);
  const members = [...searchParams].filter(([name]) => secretName.test(name)).map(([, value]) => value);
  const written = search
    .slice(1)
    .split("&")
    .flatMap((pair) => {
      const [name = "", ...value] = pair.split("=");
      return secretName.test(name) ? [value.join("=")] : [];
    });
  const all = [password, decoded(password), ...members, ...written];
  return [...new Set(all)].filter((one) => one.length >= shortest).sort((a, b) => b.length - a.length);
}

/** A text of the server at `url`, which may repeat the request that it got, without the secrets in it. */
export const withoutUrlSecrets = (text: string, url: string): string =>
  secretsInUrl(url).reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), text);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
