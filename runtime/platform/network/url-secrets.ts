/** The last word of the name of a query member that holds a secret, as in `?api_key=`, `?accessToken=` and `?sig=`. */
const secretWords = new Set(
  "key apikey token secret sig signature password passwd pass pwd auth authorization credential credentials".split(" "),
);
/** Such names that hold no secret. */
const publicName = /^(?:project|issue|public|partition|sort|cache)[_-]?key$/i;
const isSecretName = (name: string): boolean =>
  !publicName.test(name) &&
  secretWords.has(
    name
      .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/)
      .at(-1)
      ?.toLowerCase() ?? "",
  );
/** Shorter values are words as well. */
const minLength = 5;

/** The password of a URL, or its user if it has none, and the values of query members that are named like secrets, in each spelling that a text may repeat. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { username, password, searchParams, search } = new URL(text);
  const login = password || username;
  const members = [...searchParams].filter(([name]) => isSecretName(name)).map(([, value]) => value);
  const written = search
    .slice(1)
    .split("&")
    .flatMap((pair) => {
      const [name = "", ...value] = pair.split("=");
      return isSecretName(name) ? [value.join("=")] : [];
    });
  const all = [login, decoded(login), ...members, ...written];
  return [...new Set(all)].filter((one) => one.length >= minLength).sort((a, b) => b.length - a.length);
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
