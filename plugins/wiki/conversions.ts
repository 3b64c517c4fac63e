import { type Offload, textOfMarkup } from "@signalbox/sdk";
import { storageToMarkdown } from "./storage-to-markdown.ts";

/** Run in a worker thread: pages may be long, and strangers write them. */
export const conversions = { storageToMarkdown };
type Convert = Offload<typeof conversions>;

/** Converts a page body to Markdown; to its text without markup if that fails. */
export type ToMarkdown = (storage: string) => Promise<string>;

export const toMarkdownWith =
  (convert: Convert): ToMarkdown =>
  (storage) =>
    convert("storageToMarkdown", storage).catch(() => textOfMarkup(storage));
