import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { context, propagation, trace } from "@opentelemetry/api";
import type { ExportResult } from "@opentelemetry/core";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { version } from "../version.ts";
import { enableTracing, takeSpanId } from "./tracing.ts";

/** Sends spans to the configured collector, for which it loads the OpenTelemetry SDK. Returns a function that stops it. */
export async function exportTraces(
  config: Pick<Config, "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_CAPTURE_CONTENT" | "OTEL_SERVICE_NAME">,
  log: Log,
): Promise<(() => Promise<void>) | null> {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint) return null;
  const [sdk, otlp, hooks, core, resources] = await Promise.all([
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/context-async-hooks"),
    import("@opentelemetry/core"),
    import("@opentelemetry/resources"),
  ]);
  const random = new sdk.RandomIdGenerator();
  const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
  const provider = new sdk.BasicTracerProvider({
    resource: resources.resourceFromAttributes({
      "service.name": config.OTEL_SERVICE_NAME,
      "service.version": version,
      // The trace of a run that another replica resumed contains spans of both.
      "service.instance.id": randomUUID(),
      "host.name": hostname(),
    }),
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => takeSpanId() ?? random.generateSpanId(),
    },
    spanProcessors: [new sdk.BatchSpanProcessor(reporting(new otlp.OTLPTraceExporter({ url }), { url, log }))],
  });
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  enableTracing(config.OTEL_CAPTURE_CONTENT);
  log.info("traces are exported", { url });
  return () => provider.shutdown().catch((error) => log.warn("failed to export the last traces", { error }));
}

/** An exporter that logs when exports begin to fail, and when they work again. The SDK reports neither. */
function reporting(exporter: SpanExporter, { url, log }: { readonly url: string; readonly log: Log }): SpanExporter {
  let fails = false;
  const note = ({ code, error }: ExportResult) => {
    const failed = code !== 0;
    if (failed === fails) return;
    fails = failed;
    if (failed) log.warn("failed to export traces; they are lost until the collector accepts them", { url, error });
    else log.info("traces are exported again", { url });
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
