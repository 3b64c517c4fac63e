/** The page number that a `Link` header names for `last`, `next` …; `null` without one. Only the number counts: the address is ours. */
export function pageOf(link: string, relation: string): number | null {
  for (const part of link.split(",")) {
    const match = /<([^>]*)>(.*)/.exec(part);
    if (!match?.[2]?.includes(`rel="${relation}"`)) continue;
    const page = Number(/[?&]page=(\d{1,7})(?:&|$)/.exec(match[1] ?? "")?.[1]);
    return page > 0 ? page : null;
  }
  return null;
}
