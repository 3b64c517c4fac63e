/** Whether two URLs are the same. Scheme and host are not case-sensitive, and a trailing slash makes no difference. */
export function isSameUrl(one: string | null | undefined, other: string): boolean {
  if (!one || !URL.canParse(one) || !URL.canParse(other)) return false;
  return new URL(one).href.replace(/\/+$/, "") === new URL(other).href.replace(/\/+$/, "");
}
