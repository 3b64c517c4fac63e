type Settings = Readonly<Record<string, unknown>>;

/** The settings that are addresses. */
export const addressesIn = (settings: Settings): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && URL.canParse(entry[1]) && /^https?:/.test(entry[1]),
    ),
  );

const originOf = (value: unknown): string | null =>
  typeof value === "string" && /^https?:/i.test(value) && URL.canParse(value) ? new URL(value).origin : null;

/** The setting, if there is one, that points to another server afterwards. */
export const movedAddress = (before: Settings, after: Settings): string | undefined =>
  Object.keys({ ...before, ...after }).find((name) => originOf(after[name]) !== originOf(before[name]));

/** Hosts of the addresses among settings. */
export const hostsIn = (settings: Settings): string[] =>
  Object.values(addressesIn(settings)).map((address) => new URL(address).host);

/** Servers that settings name by URLs of other protocols than HTTP with a port, alone or in a list with commas: `host:port`. */
export const serversIn = (settings: Settings): string[] =>
  Object.values(settings)
    .flatMap((value) => (typeof value === "string" ? value.split(",") : []))
    .map((text) => text.trim())
    .filter((text) => /^[a-z][a-z0-9+.-]*:\/\//.test(text) && !/^https?:/.test(text) && URL.canParse(text))
    .map((text) => new URL(text))
    .filter(({ hostname, port }) => hostname !== "" && port !== "")
    .map(({ hostname, port }) => `${hostname.replace(/^\[|\]$/g, "")}:${port}`);
