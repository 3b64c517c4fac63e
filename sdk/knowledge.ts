import type { z } from "zod";
import type { CallContext } from "./source.ts";

/** One document of a knowledge source. */
export interface KnowledgePage {
  /** Id of the page at the platform. It never changes. */
  readonly id: string;
  /** Changes whenever body, title, URL or space change. `list` and `read` return the same value. */
  readonly revision: string;
  readonly title: string;
  /** URL where people read the page; `null` if it has none. */
  readonly url: string | null;
  /** Part of the source that the page belongs to, for example the key of a wiki space. */
  readonly space: string | null;
  /** Content in Markdown, with headings from `#` to `######`. It does not repeat the title. */
  readonly body: string;
  /** Display name of the person who last edited the page. Models see it with passages of the page. `null` or absent: not known. */
  readonly author?: string | null;
  /** When the page was last edited, ISO 8601. `null` or absent: not known. */
  readonly edited_at?: string | null;
}

/** One page of a listing. */
export interface PageList {
  readonly pages: readonly Pick<KnowledgePage, "id" | "revision">[];
  /** Passed unchanged to the next call, possibly in another process. `null`: there are no more pages. */
  readonly cursor: string | null;
}

/**
 * A connector to documents that agents search. The connector lists and reads pages; the host schedules the syncs, splits the
 * pages into chunks and embeds them. `call.connection` holds the settings of the source. Both calls throw `PluginError`.
 */
export interface KnowledgeConnector<Settings extends z.ZodObject = z.ZodObject> {
  /** One sentence that names the platform and its API version. */
  readonly about: string;
  /** Schema of the settings of one source, including credentials. `fetch` may reach the hosts of the URLs in it. */
  readonly config: Settings;
  /** Members of the settings that are stored encrypted and are write-only. */
  readonly secrets: readonly (keyof z.output<Settings> & string)[];
  /**
   * Lists the pages that the settings select, at most 1,000 per call. Pages that are not listed are removed from the index, so
   * throw an error for a space that is not visible, instead of returning an empty list.
   */
  list(from: { readonly cursor: string | null }, call: CallContext<z.output<Settings>>): Promise<PageList>;
  /** Reads pages by id, at most 25 per call, in any order. Pages that do not exist or that the settings do not select are omitted. */
  read(ids: readonly string[], call: CallContext<z.output<Settings>>): Promise<readonly KnowledgePage[]>;
}
