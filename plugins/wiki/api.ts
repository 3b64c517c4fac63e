import { type Call, type HttpClient, type KnowledgePage, type PageList, PluginError } from "@signalbox/sdk";
import { z } from "zod";
import type { Settings } from "./settings.ts";

/** One of the wiki's two APIs. */
export interface WikiApi {
  list(client: HttpClient, from: { readonly cursor: string | null }, call: Call<Settings>): Promise<PageList>;
  read(client: HttpClient, ids: readonly string[], call: Call<Settings>): Promise<KnowledgePage[]>;
}

/** Where a listing goes on: the position among the configured spaces, and the wiki's own place within it. */
const position = z.object({ space: z.int().nonnegative(), key: z.string(), next: z.string().nullable() });
export type Position = z.output<typeof position>;

export function positionOf(cursor: string | null, spaces: readonly string[]): Position {
  if (cursor === null) return { space: 0, key: spaces[0] ?? "", next: null };
  try {
    const found = position.parse(JSON.parse(cursor));
    if (spaces[found.space] === found.key) return found;
  } catch {
    // Said below.
  }
  throw new PluginError("invalid_input", "the cursor is not one that this wiki and these space_keys gave");
}

/** The cursor behind a portion: within the same space, at the next one, or none. */
export function cursorAfter({ space, key }: Position, next: string | null, spaces: readonly string[]): string | null {
  if (next !== null) return JSON.stringify({ space, key, next } satisfies Position);
  const following = spaces[space + 1];
  return following === undefined ? null : JSON.stringify({ space: space + 1, key: following, next: null } satisfies Position);
}

/** A parameter of the link to the next portion; `null` where there is none. */
export function parameterOf(link: string | undefined, name: string): string | null {
  if (!link || !URL.canParse(link, "http://wiki.invalid")) return null;
  return new URL(link, "http://wiki.invalid").searchParams.get(name);
}

/** Changes with the body, the title (a new version each) and the space. */
export const revisionOf = (version: number, space: string): string => `${version}@${space}`;

/** Absent spaces and those that may not be seen look alike; an empty answer would empty the index. */
export const noSpace = (key: string): PluginError =>
  new PluginError("not_found", `wiki: there is no space ${JSON.stringify(key)}, or this account may not see it (space_keys)`);

/** An address that people open; `null` where the wiki says none that makes sense. */
export function pageUrl(base: string | undefined, web: string, path: string | undefined): string | null {
  if (!path) return null;
  const root = base && /^https?:/i.test(base) && URL.canParse(base) ? base : web;
  return `${root.replace(/\/+$/, "")}/${path.replace(/^\/+/, "")}`;
}
