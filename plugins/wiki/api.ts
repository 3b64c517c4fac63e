import { type CallContext, type HttpClient, type KnowledgePage, type PageList, PluginError } from "@signalbox/sdk";
import { z } from "zod";
import type { ToMarkdown } from "./conversions.ts";
import type { Settings } from "./settings.ts";

/** One of the wiki's two APIs. */
export interface WikiApi {
  list(client: HttpClient, from: { readonly cursor: string | null }, call: CallContext<Settings>): Promise<PageList>;
  read(client: HttpClient, ids: readonly string[], call: CallContext<Settings>, toMarkdown: ToMarkdown): Promise<KnowledgePage[]>;
}

/** Where a listing continues: a configured space, and the wiki's own cursor within it. */
const position = z.object({ space: z.int().nonnegative(), key: z.string(), next: z.string().nullable() });
type Position = z.output<typeof position>;

export function positionOf(cursor: string | null, spaces: readonly string[]): Position {
  if (cursor === null) return { space: 0, key: spaces[0] ?? "", next: null };
  try {
    const found = position.parse(JSON.parse(cursor));
    if (spaces[found.space] === found.key) return found;
  } catch {
    // Reported below.
  }
  throw new PluginError("invalid_input", "cursor: must come from a listing of this wiki with the same space_keys");
}

/** The cursor after a page of results: within the same space, at the next space, or `null` at the end. */
export function cursorAfter({ space, key }: Position, next: string | null, spaces: readonly string[]): string | null {
  if (next !== null) return JSON.stringify({ space, key, next } satisfies Position);
  const following = spaces[space + 1];
  return following === undefined ? null : JSON.stringify({ space: space + 1, key: following, next: null } satisfies Position);
}

/** A query parameter of the link to the next page of results; `null` if absent. */
export function parameterOf(link: string | undefined, name: string): string | null {
  if (!link || !URL.canParse(link, "http://wiki.invalid")) return null;
  return new URL(link, "http://wiki.invalid").searchParams.get(name);
}

/** Changes with the body and the title, which each make a new version, and with the space. */
export const revisionOf = (version: number, space: string): string => `${version}@${space}`;

/** The wiki answers alike for a missing space and a hidden one. An error, because an empty result would empty the index. */
export const noSpace = (key: string): PluginError =>
  new PluginError("not_found", `space_keys: the space ${JSON.stringify(key)} does not exist, or this account cannot view it`);

const id = z.union([z.string(), z.number()]).transform(String);
const named = z.object({ id });

/**
 * The listed pages, read one by one. A page of which only the id can be read is listed without its version, so that it is read, and the
 * host reports the page if it is malformed. What has no id is left out.
 */
export function listedPages<T extends { readonly id: string }>(
  schema: z.ZodType<T>,
  results: readonly unknown[],
  revision: (page: T) => string | null,
): PageList["pages"] {
  return results.flatMap((result) => {
    const page = schema.safeParse(result);
    if (!page.success) {
      const { data } = named.safeParse(result);
      return data ? [{ id: data.id, revision: "unknown" }] : [];
    }
    const found = revision(page.data);
    return found === null ? [] : [{ id: page.data.id, revision: found }];
  });
}

/** URL of a page for people; `null` if the wiki returns none that is valid. */
export function pageUrl(base: string | undefined, web: string, path: string | undefined): string | null {
  if (!path) return null;
  const root = base && /^https?:/i.test(base) && URL.canParse(base) ? base : web;
  return `${root.replace(/(?<!\/)\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
