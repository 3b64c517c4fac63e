import { type ExtractionField, extractionFields } from "@signalbox/schema/webhook-mappings";
import { type EventText, hasMarker, joinedText, type SourceEvent } from "@signalbox/sdk";
import { messageOf } from "../platform/error-text.ts";
import type { Evaluator } from "../platform/evaluator.ts";
import type { PathRule } from "./mapping-rules.ts";

/** Number of bytes of a payload that an agent reads if no rule extracts a text. */
const maxPayload = 20_000;
/** Maximum length of a value of a rule other than `text`, in characters. */
const maxValue = 500;

/** Builds the event of a webhook that matched a path pattern. `reason`: why it cannot start anything. */
export async function extractEvent(
  rule: PathRule,
  body: Uint8Array,
  evaluator: Evaluator,
): Promise<{ event: SourceEvent; reason?: string }> {
  const fields: Partial<Record<ExtractionField, string>> = {};
  let reason: string | undefined;
  for (const name of extractionFields) {
    const parameter = Object.hasOwn(rule.parameters, name) ? rule.parameters[name] : undefined;
    if (parameter !== undefined) fields[name] = parameter;
  }
  if (Object.keys(rule.rules).length > 0) {
    try {
      Object.assign(fields, await evaluator.extract(rule.rules, body));
    } catch (error) {
      const message = messageOf(error);
      reason = `an extraction rule of webhook mapping ${rule.id} failed on the payload: ${message}`;
    }
  }
  const value = (name: ExtractionField) => fields[name]?.trim().slice(0, maxValue) || null;
  const event_name = value("event_type") ?? "";
  const missingField =
    event_name === "" && rule.canonical_trigger === null ? `event_type (${rule.rules.event_type ?? "path"})` : null;
  const text = fields.text ?? payloadParts(rule, body);
  const event = {
    delivery_id: fields.delivery_id?.trim() || null,
    event_name,
    action: value("action"),
    subject: subjectOf(value("project_id"), value("issue_id"), rule.source),
    title: value("title"),
    actor: value("actor"),
    text,
    marked: hasMarker(joinedText(text)),
    occurred_at: null,
    missing_field: missingField,
  };
  return reason === undefined ? { event } : { event, reason };
}

/** Executions on one issue run one after the other, even if the payload names no project. */
const subjectOf = (project: string | null, issue: string | null, source: string) =>
  issue === null ? null : { project: project ?? source, issue };

/** Each member with markup is a part: members may have several authors, and none may hide another. Those without stay together. */
function payloadParts(rule: PathRule, body: Uint8Array): EventText {
  const parameters = Object.entries(rule.parameters).map(([name, value]) => `${name}: ${value}`);
  const cut = body.byteLength > maxPayload ? [`[cut: ${body.byteLength} bytes in all]`] : [];
  const payload = new TextDecoder().decode(body.subarray(0, maxPayload));
  return [`Webhook of ${rule.source}`, ...parameters, ...withMarkupApart(payload), ...cut];
}

/** The JSON of a payload, which may have been cut, divided around the members that contain markup. */
function withMarkupApart(json: string): string[] {
  const parts = [""];
  for (const [member] of json.matchAll(memberPattern)) {
    if (member.includes("<")) parts.push(member, "");
    else parts[parts.length - 1] += member;
  }
  return parts;
}

/** Up to a comma that is not in a text. */
const memberPattern = /(?:"(?:[^"\\]|\\.)*"?|[^",])*(?:,|$)/gs;
