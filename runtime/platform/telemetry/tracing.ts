import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { sha256Of } from "../digest.ts";
import { messageOf } from "../error-text.ts";

/*
 * Spans through the OpenTelemetry API. Without OTEL_EXPORTER_OTLP_ENDPOINT no SDK is loaded, and all of this does nothing. Each
 * event has one trace, whose id is that of the event, or is taken from the webhook's `traceparent`. So every replica that works
 * on the event uses the same trace.
 */

const tracer = trace.getTracer("signalbox");
const recording = { enabled: false, content: false };

/** Called by the exporter once it is ready. `content`: whether texts of prompts, answers and tools are recorded, too. */
export function enableTracing(content: boolean): void {
  recording.enabled = true;
  recording.content = content;
}
export const recordsSpans = (): boolean => recording.enabled;
export const recordsContent = (): boolean => recording.enabled && recording.content;

const shape = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;
/** A valid `traceparent` header; `null` for any other value. */
export const validTraceparent = (header: string | null | undefined): string | null => {
  const [, traceId = "", spanId = ""] = shape.exec(header ?? "") ?? [];
  return /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId) ? (header as string) : null;
};

/** The event to whose trace a span belongs. */
interface TracedEvent {
  readonly id: string;
  readonly traceparent: string | null;
}

const spanIdOf = (text: string) => sha256Of(text).slice(0, 16);

/** A context below the root span of an event, which is the same on every replica. */
function contextOf({ id, traceparent }: TracedEvent): Context {
  const [, traceId, spanId] = shape.exec(traceparent ?? "") ?? [];
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceId ?? id.replaceAll("-", ""),
    spanId: spanId ?? spanIdOf(id),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

let nextSpanId: string | undefined;
/** The id of the span that is being started, if it must have a specific one. Read by the exporter, which generates all others. */
export function takeSpanId(): string | undefined {
  const id = nextSpanId;
  nextSpanId = undefined;
  return id;
}

/** Runs a function as a span of an event's trace. The span's id is derived from `key`, so that `recordSpan` can repeat it. */
export function inTrace<T>(
  event: TracedEvent,
  name: string,
  attributes: Attributes,
  run: (span: Span | null) => Promise<T>,
  key?: string,
): Promise<T> {
  if (!recording.enabled) return run(null);
  return context.with(contextOf(event), () => {
    if (key !== undefined) nextSpanId = spanIdOf(key);
    return inSpan(name, attributes, run);
  });
}

/** Work of another process, with the known facts. Times are in milliseconds since 1970. */
interface PastSpan {
  readonly key: string;
  readonly name: string;
  readonly attributes: Attributes;
  readonly startMs: number;
  readonly endMs: number;
  readonly error: string;
}

/** Records a span for a process that was killed before it exported it, with the id that `inTrace` assigned there. */
export function recordSpan(event: TracedEvent, { key, name, attributes, startMs, endMs, error }: PastSpan): void {
  if (!recording.enabled) return;
  nextSpanId = spanIdOf(key);
  const span = tracer.startSpan(name, { attributes, startTime: startMs }, contextOf(event));
  span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  span.end(endMs);
}

/** Runs a function as a span within the current one. An error marks the span as failed and is rethrown. */
export function inSpan<T>(name: string, attributes: Attributes, run: (span: Span | null) => Promise<T>): Promise<T> {
  if (!recording.enabled) return run(null);
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
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
