import { type ExtractionField, extractionFields } from "@signalbox/schema/webhook-mappings";
import { hasMarker, type SourceEvent } from "@signalbox/sdk";
import type { Evaluator } from "../platform/evaluator.ts";
import type { PathRule } from "./mapping-rules.ts";

/** How much of a payload an agent reads where no rule says what, in bytes. */
const maxPayload = 20_000;
/** Longest value of a rule other than `text`, in characters. */
const maxValue = 500;

/** Builds the event of a webhook that a path pattern took in. A rule that fails is told in `missing_field`. */
export async function sourceEventOf(hook: PathRule, body: Uint8Array, evaluator: Evaluator): Promise<SourceEvent> {
  const found: Partial<Record<ExtractionField, string>> = {};
  let failure: string | null = null;
  for (const name of extractionFields) {
    const parameter = Object.hasOwn(hook.parameters, name) ? hook.parameters[name] : undefined;
    if (parameter !== undefined) found[name] = parameter;
  }
  if (Object.keys(hook.rules).length > 0) {
    try {
      Object.assign(found, await evaluator.extract(hook.rules, body));
    } catch (error) {
      failure = `what the extraction rules of webhook mapping ${hook.id} ask for: ${error instanceof Error ? error.message : error}`;
    }
  }
  const value = (name: ExtractionField) => found[name]?.trim().slice(0, maxValue) || null;
  const event_name = value("event_type") ?? "";
  const lacksName =
    event_name === "" && hook.canonical_trigger === null ? `event_type (${hook.rules.event_type ?? "path"})` : null;
  const text = found.text ?? payloadText(hook, body);
  return {
    delivery_id: value("delivery_id"),
    event_name,
    action: value("action"),
    subject: subjectOf(value("project_id"), value("issue_id"), hook.source),
    actor: value("actor"),
    text,
    marked: hasMarker(text),
    occurred_at: null,
    missing_field: failure ?? lacksName,
  };
}

/** Work on one issue is done in turn, also where the payload names no project. */
const subjectOf = (project: string | null, issue: string | null, source: string) =>
  issue === null ? null : { project: project ?? source, issue };

function payloadText(hook: PathRule, body: Uint8Array): string {
  const parameters = Object.entries(hook.parameters).map(([name, value]) => `${name}: ${value}`);
  const cut = body.byteLength > maxPayload ? `\n[cut: ${body.byteLength} bytes in all]` : "";
  const payload = new TextDecoder().decode(body.subarray(0, maxPayload));
  return [`Webhook of ${hook.source}`, ...parameters, "", payload + cut].join("\n");
}
