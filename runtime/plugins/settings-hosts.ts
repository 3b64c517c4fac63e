/** Hosts of the addresses among settings. */
export const hostsIn = (settings: Readonly<Record<string, unknown>>): string[] =>
  Object.values(settings).flatMap((value) =>
    typeof value === "string" && URL.canParse(value) && /^https?:/.test(value) ? [new URL(value).host] : [],
  );
