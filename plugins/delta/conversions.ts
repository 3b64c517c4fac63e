import type { Offload } from "@signalbox/sdk";
import { htmlToMarkdown, markdownToHtml } from "./html.ts";

/** Run in a worker thread, because their time grows faster than their input, which strangers and models write. */
export const conversions = { htmlToMarkdown, markdownToHtml };
export type Convert = Offload<typeof conversions>;
