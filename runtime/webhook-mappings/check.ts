import { fieldProblem } from "@signalbox/schema/problem";
import { extractionFields, type webhookAuthUpdate } from "@signalbox/schema/webhook-mappings";
import { JSONPathEnvironment } from "json-p3";
import type { z } from "zod";
import { messageOf } from "../platform/error-text.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import { parseNetworks } from "../platform/network/networks.ts";
import { compilePath } from "../platform/path-pattern.ts";

/** The members that a caller sends, together with the unchanged ones of the stored mapping. */
export interface Draft {
  readonly source: string;
  readonly event_type: string | null;
  readonly jq_filter: string | null;
  readonly canonical_trigger: string | null;
  readonly path_pattern: string | null;
  readonly extraction_rules: Readonly<Record<string, string>> | null;
}

const paths = new JSONPathEnvironment();

/** Refuses a mapping that could never work, naming the member. `platforms`: the sources whose webhooks have their own paths. */
export async function checkMapping(draft: Draft, platforms: ReadonlySet<string>, evaluator: Evaluator): Promise<void> {
  if (draft.path_pattern === null) checkEventMapping(draft);
  else checkPathMapping(draft, draft.path_pattern, platforms);
  if (draft.jq_filter === null) return;
  await evaluator.compile(draft.jq_filter).catch((error) => {
    throw fieldProblem("jq_filter", `is not valid jq: ${messageOf(error)}`);
  });
}

function checkEventMapping({ event_type, canonical_trigger, extraction_rules }: Draft): void {
  if (event_type === null)
    throw fieldProblem(
      "event_type",
      "is required; for webhooks that no plugin parses, set path_pattern and extraction_rules instead",
    );
  if (canonical_trigger === null) throw fieldProblem("canonical_trigger", "is required with event_type");
  if (extraction_rules !== null)
    throw fieldProblem(
      "extraction_rules",
      "cannot be combined with event_type, because the plugin of the source parses the event; set path_pattern instead",
    );
}

function checkPathMapping(
  { event_type, canonical_trigger, extraction_rules }: Draft,
  pattern: string,
  platforms: ReadonlySet<string>,
): void {
  if (event_type !== null)
    throw fieldProblem("event_type", "cannot be combined with path_pattern; extraction_rules.event_type extracts it");
  try {
    compilePath(pattern);
  } catch (error) {
    throw fieldProblem("path_pattern", `${messageOf(error)}; it is ${JSON.stringify(pattern)}`);
  }
  const literal = pattern.slice("/webhook/".length);
  if (platforms.has(literal))
    throw fieldProblem("path_pattern", `${pattern} is the webhook of ${literal} itself; choose another path`);
  const rules = Object.entries(extraction_rules ?? {});
  for (const [name, rule] of rules) {
    const field = `extraction_rules.${name}`;
    if (!(extractionFields as readonly string[]).includes(name))
      throw fieldProblem(field, `must be one of ${extractionFields.join(", ")}`);
    try {
      paths.compile(rule);
    } catch (error) {
      throw fieldProblem(field, `must be a JSONPath (RFC 9535) such as $.issue.id: ${messageOf(error)}`);
    }
  }
  const named = rules.some(([name]) => name === "event_type") || /:event_type\b/.test(pattern);
  if (canonical_trigger === null && !named)
    throw fieldProblem(
      "extraction_rules",
      "must contain event_type, which is looked up in the source mappings, or set canonical_trigger",
    );
}

/** Refuses invalid networks. */
export function checkAuth(auth: z.output<typeof webhookAuthUpdate>): void {
  if (auth.method !== "ip_allowlist") return;
  try {
    parseNetworks(auth.cidrs);
  } catch (error) {
    throw fieldProblem("auth.cidrs", messageOf(error));
  }
}
