import type { KnowledgeConnector, KnowledgePage } from "@signalbox/sdk";
import { z } from "zod";

/** A map of pages, as a platform of knowledge. */
export class PageMap {
  readonly pages = new Map<string, KnowledgePage>();
  /** Ids of the pages in each portion of the list; one portion with all where null. */
  portions: string[][] | null = null;
  /** The number of the portion after this one. */
  nextPortion = (at: number): number => at + 1;
  /** What the next reads throw. */
  failure: Error | null = null;
  /** Ids of each read. */
  reads: string[][] = [];

  put(id: string, body: string, revision = "1"): void {
    this.pages.set(id, { id, revision, body, title: `Title ${id}`, url: null, space: "S" });
  }

  reset(): void {
    this.pages.clear();
    this.portions = null;
    this.nextPortion = (at) => at + 1;
    this.failure = null;
    this.reads = [];
  }

  readonly connector: KnowledgeConnector = {
    about: "A map.",
    config: z.object({ base_url: z.string().optional(), token: z.string().optional() }),
    secrets: ["token"],
    list: async ({ cursor }) => {
      const all = this.portions ?? [[...this.pages.keys()]];
      const at = Number(cursor ?? 0);
      const listed = (all[at] ?? []).map((id) => ({ id, revision: this.pages.get(id)?.revision ?? "gone" }));
      return { pages: listed, cursor: at + 1 < all.length ? String(this.nextPortion(at)) : null };
    },
    read: async (ids) => {
      this.reads.push([...ids]);
      if (this.failure) throw this.failure;
      return ids.flatMap((id) => this.pages.get(id) ?? []);
    },
  };
}
