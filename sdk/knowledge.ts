import type { z } from "zod";
import type { CallContext } from "./contract.ts";

/** One document of a knowledge source. */
export interface KnowledgePage {
  /** As the other side names it; the same for the life of the page. */
  readonly id: string;
  /** Changes with everything that is indexed: body, title, address, space. `list` and `read` say the same. */
  readonly revision: string;
  readonly title: string;
  /** Where people read it; `null` where it has no address. */
  readonly url: string | null;
  /** The part of the source that it belongs to, for example a wiki's space key. */
  readonly space: string | null;
  /** Markdown. Its headings (`#` to `######`) tell what stands where; the title is not repeated. */
  readonly body: string;
}

/** Which pages there are. */
export interface PageList {
  readonly pages: readonly Pick<KnowledgePage, "id" | "revision">[];
  /** Handed to the next call as it is, also by another process; `null`: this was the last portion. */
  readonly cursor: string | null;
}

/**
 * A connector to documents that agents search. The host decides when, keeps what was read, cuts it into chunks and embeds
 * them; a connector lists and reads. Settings of a source are `call.connection`; both calls throw `PluginError`s.
 */
export interface KnowledgeConnector<Settings extends z.ZodObject = z.ZodObject> {
  /** One sentence: which platform, which API version. */
  readonly about: string;
  /** Settings of one source, its credentials among them. The hosts of its addresses may be reached by `fetch`. */
  readonly config: Settings;
  /** Members of the settings that are stored encrypted and never shown. */
  readonly secrets: readonly (keyof z.output<Settings> & string)[];
  /**
   * One portion of all pages that the settings name, at most a thousand. What is not listed leaves the index, so a place
   * that cannot be seen is an error, never an empty list.
   */
  list(from: { readonly cursor: string | null }, call: CallContext<z.output<Settings>>): Promise<PageList>;
  /** The pages of these ids, 25 at most, in any order. Those that are gone, or outside of what the settings name, are left out. */
  read(ids: readonly string[], call: CallContext<z.output<Settings>>): Promise<readonly KnowledgePage[]>;
}
