import { z } from "zod";

/** The platforms that are built in; a fifth may be named where the field says so. */
export const sources = ["alpha", "beta", "gamma", "delta"] as const;
export const source = z.enum(sources);

/** Name of a source: one of the four, or that of another source connector or webhook mapping. */
export const sourceName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, "must be a source name: lower-case letters, digits, `_` and `-`, starting with a letter");

/** Id of an agent or a task, chosen by its author. */
export const slug = z
  .string()
  .max(128)
  .regex(/^[a-z][a-z0-9_]*$/, "must match ^[a-z][a-z0-9_]*$: lower-case letters, digits and `_`, starting with a letter");

/** Normalised event name, for example `issue.created`. */
export const canonicalTrigger = z
  .string()
  .max(128)
  .regex(/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/, "must be a trigger name such as issue.created: lower-case words joined by dots");

/** Id of a row, assigned by the service. */
export const rowId = z.int().min(1).max(2_147_483_647);

/** A single line or a paragraph that must not be empty. */
export const text = (max: number) => z.string().trim().min(1, "must not be empty").max(max);
/** A text of any length up to `max` characters, kept as it is. */
export const prose = (max: number) => z.string().max(max);

/** ISO 8601 in UTC with milliseconds, for example 2026-01-31T09:30:00.000Z. */
export const timestamp = z.iso.datetime();

/** Answer of every seed: how many were made, and how many were there before. */
export const seedResult = z.object({ created: z.int(), skipped: z.int() }).meta({ id: "Seeded" });
