import { createHash } from "node:crypto";
import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";

/*
 * Spans through the OpenTelemetry API. Without OTEL_EXPORTER_OTLP_ENDPOINT no SDK is loaded, and all of this does nothing.
 * One trace for each event: its id is that of the event, or comes from the webhook's `traceparent`. So every replica that
 * works on the event finds the same trace.
 */

const tracer = trace.getTracer("signalbox");
const recording = { enabled: false, content: false };

/** Called by the exporter once it is set up. `content`: texts of prompts, answers and tools are recorded, too. */
export function enableTracing(content: boolean): void {
  recording.enabled = true;
  recording.content = content;
}
export const recordsContent = (): boolean => recording.enabled && recording.content;

const shape = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
/** A `traceparent` header that is valid; `null` for anything else. */
export const validTraceparent = (header: string | undefined): string | null => {
  const [, traceId = "", spanId = ""] = shape.exec(header ?? "") ?? [];
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId) ? (header as string) : null;
};

/** The span that is the ancestor of all work on an event, on every replica. */
function parentOf(eventId: string, traceparent: string | null): SpanContext {
  const [, traceId, spanId] = shape.exec(traceparent ?? "") ?? [];
  return {
    traceId: traceId ?? eventId.replaceAll("-", ""),
    spanId: spanId ?? createHash("sha256").update(eventId).digest("hex").slice(0, 16),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}

/** Runs a function as a span of an event's trace. */
export function inTrace<T>(
  event: { readonly id: string; readonly traceparent: string | null },
  name: string,
  attributes: Attributes,
  run: (span: Span | null) => Promise<T>,
): Promise<T> {
  if (!recording.enabled) return run(null);
  const parent = trace.setSpanContext(ROOT_CONTEXT, parentOf(event.id, event.traceparent));
  return context.with(parent, () => inSpan(name, attributes, run));
}

/** Runs a function as a span within the current one. An error marks the span as failed and is rethrown. */
export function inSpan<T>(name: string, attributes: Attributes, run: (span: Span | null) => Promise<T>): Promise<T> {
  if (!recording.enabled) return run(null);
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Headers that pass the current trace to another service; empty without tracing. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  if (recording.enabled) propagation.inject(context.active(), headers);
  return headers;
}

/** Trace id of the current span, for the log. */
export const currentTrace = (): string | undefined =>
  recording.enabled ? trace.getSpanContext(context.active())?.traceId : undefined;
