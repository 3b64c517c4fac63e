type Settings = Readonly<Record<string, unknown>>;

/** The settings that are addresses. */
export const addressesIn = (settings: Settings): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string" && URL.canParse(entry[1]) && /^https?:/.test(entry[1]),
    ),
  );

/** Hosts of the addresses among settings. */
export const hostsIn = (settings: Settings): string[] =>
  Object.values(addressesIn(settings)).map((address) => new URL(address).host);
