import { z } from "zod";

/**
 * Schemas of the parameters that the tools of all trackers share. An issue is a string, a number or a key. `about` describes
 * how the platform writes issues and projects.
 */
export const issueParameters = (about: { readonly issue: string; readonly project: string }) => ({
  issue: z.union([z.string().min(1), z.number().int().positive()]).describe(about.issue),
  project: z.string().min(1).optional().describe(`${about.project} Default: the project of the event.`),
  body: z.string().min(1).describe("Text of the comment, in Markdown."),
  description: z.string().describe("New description, in Markdown. It replaces the whole description."),
});

/** Output of a tool that posted a comment. */
export const postedComment = z.object({ id: z.string(), url: z.string() });
