import { manifestError } from "@signalbox/sdk/manifest";
import type { z } from "zod";
import { issueText } from "../platform/issue-text.ts";

/** The first error of a manifest in the API's words, with the path of the member. */
export const manifestText = (error: z.ZodError): string => manifestError(error, issueText);
