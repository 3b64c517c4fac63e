import { z } from "zod";

/**
 * The parameters that the tools of every tracker share: an issue is a string, a number or a key, whatever the platform
 * calls it. `issue` and `project` say how the platform writes them.
 */
export const issueParameters = (about: { readonly issue: string; readonly project: string }) => ({
  issue: z.union([z.string().min(1), z.number().int().positive()]).describe(about.issue),
  project: z.string().min(1).optional().describe(`${about.project} Absent: that of the event at hand.`),
  body: z.string().min(1).describe("The comment, Markdown."),
  description: z.string().describe("The whole new description, Markdown."),
});

/** What a tool answers that posted something. */
export const postedComment = z.object({ id: z.string(), url: z.string() });
