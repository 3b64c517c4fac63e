import type { Offload } from "@signalbox/sdk";
import { adfToMarkdown } from "./adf-to-markdown.ts";
import { markdownToAdf } from "./markdown-to-adf.ts";
import { markdownToWiki } from "./markdown-to-wiki.ts";
import { wikiToMarkdown } from "./wiki-to-markdown.ts";

/** Run in a worker thread, because their time grows faster than their input, which strangers and models write. */
export const conversions = { adfToMarkdown, markdownToAdf, markdownToWiki, wikiToMarkdown };
export type Convert = Offload<typeof conversions>;
