import { z } from "zod";

/** The built-in source platforms. Fields of type `sourceName` also accept other sources. */
export const sources = ["alpha", "beta", "gamma", "delta"] as const;
export const source = z.enum(sources);

/** Name of a source: a built-in platform, a source of another plugin, or a source of a webhook mapping. */
export const sourceName = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    "must start with a lower-case letter and contain only lower-case letters, digits, `_` and `-`",
  )
  .describe("Name of a source, for example `alpha`.");

/** Id of an agent or a task, chosen by its author. */
export const slug = z
  .string()
  .max(128)
  .regex(/^[a-z][a-z0-9_]*$/, "must start with a lower-case letter and contain only lower-case letters, digits and `_`");

/** Normalized event name, for example `issue.created`. */
export const canonicalTrigger = z
  .string()
  .max(128)
  .regex(
    /^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$/,
    "must be a trigger name of lower-case words joined by dots, for example issue.created",
  )
  .describe("Canonical trigger: the name that all sources share for an event, for example `issue.created`.");

/** Numeric id, assigned by the service. */
export const rowId = z.int().min(1).max(2_147_483_647);

/** A non-empty text of at most `max` characters. Leading and trailing spaces are removed. */
export const text = (max: number) => z.string().trim().min(1, "must not be empty").max(max);
/** A secret, stored unchanged. One of only spaces comes from a template or script that has no value, and anyone can guess it. */
export const secretText = (max: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(max)
    .refine((value) => value.trim() !== "", "must not be only spaces");
/** A text of at most `max` characters, possibly empty, stored unchanged. */
export const prose = (max: number) => z.string().max(max);

/** ISO 8601 in UTC with milliseconds, for example 2026-01-31T09:30:00.000Z. */
export const timestamp = z.iso.datetime();

/** The first time that is allowed, and the first one after the last. */
const minTime = Date.parse("0001-01-01T00:00:00Z");
const maxTime = Date.parse("+010000-01-01T00:00:00Z");

/** A time as a caller sends it: ISO 8601 with a zone. Limited to the years that `timestamp` can return, in UTC. */
export const zonedTime = z.iso
  .datetime({
    offset: true,
    error: ({ input }) => {
      const rule = "must be a time in ISO 8601 with a zone, for example 2026-01-31T09:30:00Z";
      // The query of a URL turns the `+` of a zone into a space.
      return typeof input === "string" && /:\d\d(?:\.\d+)? \d\d:?\d\d$/.test(input) ? `${rule}; in a URL, write + as %2B` : rule;
    },
  })
  .refine((text) => Date.parse(text) >= minTime && Date.parse(text) < maxTime, "must be between the years 1 and 9999 (UTC)");

/** Why a text of a row is null although it was stored, for example after damage to the database. Absent if all texts can be read. */
export const unreadable = (parts: string) =>
  z.string().optional().describe(`Why the stored ${parts} cannot be read and is null; absent if it can be read.`);

/** Result of a seed operation: how many rows were created, and how many already existed. */
export const seedResult = z.object({ created: z.int(), skipped: z.int() }).meta({ id: "Seeded" });

/** Description of a member whose value is an address that may contain a key. */
export const withoutWrite =
  "Address. If the API key does not have the scope `write`, the values of its query and parts of its path with 16 or more characters are `********`.";
