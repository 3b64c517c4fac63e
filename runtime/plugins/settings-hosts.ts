type Settings = Readonly<Record<string, unknown>>;

/** The settings that contain addresses. */
export const addressesIn = (settings: Settings): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && URL.canParse(entry[1]) && /^https?:/.test(entry[1]),
    ),
  );

const originOf = (value: unknown): string | null =>
  typeof value === "string" && /^https?:/i.test(value) && URL.canParse(value) ? new URL(value).origin : null;

/** The first setting that would name another server after the change; `undefined` if none does. */
export const changedHost = (before: Settings, after: Settings): string | undefined =>
  Object.keys({ ...before, ...after }).find((name) => originOf(after[name]) !== originOf(before[name]));

/** By settings, which are never changed in place. Each request to a tracker needs them, and parsing addresses costs more. */
const knownHosts = new WeakMap<Settings, readonly string[]>();

/** Hosts of the addresses among settings. */
export function hostsIn(settings: Settings): readonly string[] {
  const hosts = knownHosts.get(settings) ?? Object.values(addressesIn(settings)).map((address) => new URL(address).host);
  knownHosts.set(settings, hosts);
  return hosts;
}

/**
 * Servers, as `host:port`, in settings that contain URLs with a port and a protocol other than HTTP, alone or in a
 * comma-separated list.
 */
export const serversIn = (settings: Settings): string[] =>
  Object.values(settings)
    .flatMap((value) => (typeof value === "string" ? value.split(",") : []))
    .map((text) => text.trim())
    .filter((text) => /^[a-z][a-z0-9+.-]*:\/\//.test(text) && !/^https?:/.test(text) && URL.canParse(text))
    .map((text) => new URL(text))
    .filter(({ hostname, port }) => hostname !== "" && port !== "")
    .map(({ hostname, port }) => `${hostname.replace(/^\[|\]$/g, "")}:${port}`);
