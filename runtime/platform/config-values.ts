import { z } from "zod";

/** Kinds of values of environment variables. */
export const whole = (fallback: number, min: number, max: number) =>
  z
    .string()
    .refine(
      (text) => /^-?\d+$/.test(text) && Number(text) >= min && Number(text) <= max,
      `must be a whole number from ${min} to ${max}`,
    )
    .transform(Number)
    .default(fallback);
export const yesNo = (fallback: boolean) =>
  z
    .enum(["true", "false", "1", "0", "yes", "no"])
    .transform((word) => ["true", "1", "yes"].includes(word))
    .default(fallback);
export const items = z.string().transform((value) =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean),
);
export const list = items.default([]);
export const amount = (fallback: number) =>
  z
    .string()
    .refine((text) => /^\d+(\.\d+)?$/.test(text) && Number(text) <= 1_000_000_000, "must be a number from 0 to 1000000000")
    .transform(Number)
    .default(fallback);
export const standing = (fallback: "none" | "collaborator") =>
  z.enum(["owner", "member", "collaborator", "contributor", "none"]).default(fallback);
export const mostTokens = 1_000_000_000_000;
/** A second secret, while its platform is given a new one. */
export const previousSecret = (of: string) =>
  z
    .string()
    .optional()
    .describe(`Previous value of \`${of}\`: webhooks signed with it are still accepted while you update the platform.`);
