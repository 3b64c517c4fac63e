import type { Json } from "@signalbox/sdk";

/** What the API answered, as a webhook would report it. Ids over 2^53 were read as bigint, which is no JSON, and become strings. */
export const payloadOf = (content: Readonly<Record<string, unknown>>): Json =>
  JSON.parse(JSON.stringify(content, (_, value) => (typeof value === "bigint" ? String(value) : value)));
