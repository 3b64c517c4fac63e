import type { Context } from "hono";
import { Refusal } from "./refusal.ts";

/** Filters by the query parameter `since`. */
export function since(c: Context, updatedAt: string): boolean {
  const since = c.req.query("since");
  if (since === undefined) return true;
  const from = Date.parse(since);
  if (Number.isNaN(from)) throw new Refusal(422, `Invalid request.\n\nsince: "${since}" is not an ISO 8601 timestamp.`);
  return Date.parse(updatedAt) >= from;
}

/** The fields that lists can be sorted by. */
interface Dated {
  readonly id: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export function sortItems<T extends Dated>(
  c: Context,
  items: T[],
  otherwise: "asc" | "desc",
  comments?: (item: T) => number,
): T[] {
  const by = c.req.query("sort") ?? "created";
  const sign = (c.req.query("direction") ?? otherwise) === "asc" ? 1 : -1;
  const key = (item: T): number =>
    by === "comments" && comments ? comments(item) : Date.parse(by === "updated" ? item.updatedAt : item.createdAt);
  return items.sort((a, b) => sign * (key(a) - key(b) || a.id - b.id));
}

/** One page and the `Link` header with the URLs of the other pages. */
export function page<T>(c: Context, items: readonly T[], base: () => string, shape: (item: T) => unknown): Response {
  const size = Math.min(100, Math.max(1, Number(c.req.query("per_page") ?? 30) || 30));
  const current = Math.max(1, Number(c.req.query("page") ?? 1) || 1);
  const last = Math.max(1, Math.ceil(items.length / size));
  const link = (to: number, rel: string) => {
    const url = new URL(c.req.url);
    url.searchParams.set("page", String(to));
    return `<${base()}${url.pathname}${url.search}>; rel="${rel}"`;
  };
  const links = [
    ...(current > 1 ? [link(current - 1, "prev")] : []),
    ...(current < last ? [link(current + 1, "next"), link(last, "last")] : []),
    ...(current > 1 ? [link(1, "first")] : []),
  ];
  return c.json(
    items.slice((current - 1) * size, current * size).map(shape),
    200,
    links.length > 0 ? { link: links.join(", ") } : {},
  );
}
