import { ConfigError } from "../environment.ts";

/** Proxies as undici takes them. */
export interface Proxies {
  readonly httpProxy?: string;
  readonly httpsProxy?: string;
  readonly noProxy?: string;
}

/**
 * The proxies in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, or their names in lower case, which take precedence as in other programs.
 * Throws a `ConfigError` without the values, because they may contain a password.
 */
export function proxiesIn(values: Readonly<Record<string, string>>): Proxies {
  const valueIn = (name: string) => values[name.toLowerCase()] ?? values[name];
  const urls = { httpProxy: "HTTP_PROXY", httpsProxy: "HTTPS_PROXY" } as const;
  const wrong = Object.values(urls).filter((name) => !isProxy(valueIn(name)));
  if (wrong.length > 0)
    throw new ConfigError(wrong.map((name) => `${name}: must be a URL such as http://proxy.example.com:3128`).join("\n"));
  const all = Object.entries({ ...urls, noProxy: "NO_PROXY" }).flatMap(([option, name]) => {
    const value = valueIn(name);
    return value === undefined ? [] : [[option, value]];
  });
  return Object.fromEntries(all);
}

const isProxy = (value: string | undefined): boolean =>
  value === undefined || /^(https?|socks5?):$/.test(URL.parse(value)?.protocol ?? "");
