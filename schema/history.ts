import { z } from "zod";
import { zonedTime } from "./common.ts";
import { nearestName } from "./nearest.ts";
import { pageOf, paging } from "./operation.ts";

/** Input of lists that only grow: of events, executions, steps and log entries. */
export const historyFilter = {
  ...paging,
  from: zonedTime.optional().describe("Return only items created at or after this time, in ISO 8601 with a zone."),
  to: zonedTime.optional().describe("Return only items created before this time, in ISO 8601 with a zone."),
  subject: z
    .string()
    .trim()
    .min(1)
    .max(2_000)
    .optional()
    .describe(
      "Return only items about this issue or pull request: `acme/webshop#42`, `CONF-7`, its URL, or `alpha:acme/webshop#42` as listed.",
    ),
  q: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .optional()
    .describe(
      "Return only items whose reason, error or message contains these words, in any order and case. One page searches the latest 10,000 rows. Use the cursor to search older ones.",
    ),
  order: z.enum(["desc", "asc"]).default("desc").describe("`desc`: newest first; `asc`: oldest first. Default: `desc`."),
  cursor: z
    .string()
    .max(200)
    .optional()
    .describe("Cursor of the page to return: the `X-Next-Cursor` of the previous page. Cannot be combined with `offset`."),
} as const;

/** Output of a list that only grows. Over HTTP the cursor is in `X-Next-Cursor` and in `Link`. */
export const historyOf = <T extends z.ZodType>(item: T) =>
  pageOf(item, {
    total_is_minimum: z.boolean().describe("Whether there are more items than `total`. Counting stops at 10,000."),
    next_cursor: z.string().nullable().describe("Cursor of the next page; null on the last page."),
  });

/** Input member `fields` of a list whose items leave out long members. */
export const fieldsOf = (item: z.ZodObject, long: readonly string[]) =>
  z
    .string()
    .max(1_000)
    .optional()
    .superRefine((filters, context) => {
      const known = [...new Set([...Object.keys(item.shape), ...long])];
      for (const name of namesIn(filters)) {
        if (known.includes(name)) continue;
        const suggestion = nearestName(name, known);
        const help = suggestion ? `did you mean "${suggestion}"?` : `available: ${known.join(", ")}`;
        context.addIssue({ code: "custom", message: `items have no member ${JSON.stringify(name)}; ${help}` });
      }
    })
    .describe(
      `Long members to include, comma-separated: ${long.join(", ")}. With them, a page can contain fewer items than \`limit\`: it ends before they exceed 16 MiB. Use the cursor to read on. Default: none.`,
    );

/** The names in a comma-separated list. */
export const namesIn = (fields: string | undefined): string[] =>
  (fields ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
