/** The page number in a `Link` header for `last`, `next` and so on; `null` if absent. Only the number is used, never the header's URL. */
export function pageOf(link: string, relation: string): number | null {
  for (const part of link.split(",")) {
    const match = /^\s*<([^>]*)>(.*)/.exec(part);
    if (!match?.[2]?.includes(`rel="${relation}"`)) continue;
    const page = Number(/[?&]page=(\d{1,7})(?:&|$)/.exec(match[1] ?? "")?.[1]);
    return page > 0 ? page : null;
  }
  return null;
}
