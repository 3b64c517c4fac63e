/** Parameters of a path, by name. */
export type PathMatch = Readonly<Record<string, string>>;

/** Maximum length of a path that is compared with patterns, in characters. */
const maxPath = 2_000;

const literal = "A-Za-z0-9._~%@!$&',;=-";
// Only one way to divide a text into its parts: with two per segment, a refusal would take exponential time.
const segment = `/(?=[:${literal}])[${literal}]*(?::\\w+(?!\\w)\\??[${literal}]*)?`;
const grammar = new RegExp(`^/webhook(?:${segment}|\\{${segment}\\}\\?)*(?:/\\*)?$`);

/**
 * Compiles the pattern of a webhook's whole path, in URLPattern's syntax: `/webhook/acme/:team`. Throws an Error with the reason.
 * A pattern becomes a regular expression that runs on this thread, so patterns that could take long are refused: a segment has at
 * most one parameter, `*` is allowed only at the end, the number of optional parts is limited, and there are no custom
 * expressions.
 */
export function compilePath(pattern: string): (path: string) => PathMatch | null {
  if (!/^\/webhook\/./.test(pattern)) throw new Error("must be a path below /webhook/, for example /webhook/acme/:team");
  if (!grammar.test(pattern)) throw new Error("must be segments with at most one `:name` each, `{/…}?`, and `/*` at the end");
  if ((pattern.match(/\?/g)?.length ?? 0) > 3) throw new Error("may have at most three optional parts");
  const compiled = compile(pattern);
  return (path) => {
    if (path.length > maxPath) return null;
    const groups = compiled.exec({ pathname: path })?.pathname.groups;
    if (!groups) return null;
    const named = Object.entries(groups).filter(([name, value]) => value !== undefined && !/^\d+$/.test(name));
    return Object.fromEntries(named.map(([name, value]) => [name, decode(value as string)]));
  };
}

function compile(pattern: string): URLPattern {
  try {
    return new URLPattern({ pathname: pattern });
  } catch {
    throw new Error("must be a URL pattern such as /webhook/acme/:team");
  }
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
