import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { innermost } from "../error-text.ts";
import type { Log } from "../log.ts";
import { headerOf } from "../network/whole-response.ts";

/** The metrics of the process, for `GET /metrics`. Labels have few values; `bounded` limits labels with external values. */
export const registry = new Registry();

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 1200];
const registers = [registry];

export const webhooks = new Counter({
  name: "signalbox_webhooks_total",
  help: "Webhooks by source and HTTP status of the answer.",
  labelNames: ["source", "status"],
  registers,
});
export const webhookSeconds = new Histogram({
  name: "signalbox_webhook_duration_seconds",
  help: "Time from the arrival of a webhook to its answer.",
  buckets: seconds.slice(0, 10),
  registers,
});
export const attempts = new Counter({
  name: "signalbox_execution_attempts_total",
  help: "Attempts at executions by outcome: succeeded, failed, retried, postponed, held, waiting, interrupted or offered.",
  labelNames: ["outcome"],
  registers,
});
export const attemptSeconds = new Histogram({
  name: "signalbox_execution_attempt_duration_seconds",
  help: "Duration of attempts at executions.",
  buckets: seconds,
  registers,
});
export const lostLeases = new Counter({
  name: "signalbox_leases_lost_total",
  help: "Executions whose lease this replica lost before they finished.",
  registers,
});
export const modelSeconds = new Histogram({
  name: "gen_ai_client_operation_duration_seconds",
  help: "Duration of requests to the model.",
  labelNames: ["gen_ai_operation_name", "gen_ai_request_model", "error_type"],
  buckets: seconds,
  registers,
});
export const modelTokens = new Counter({
  name: "gen_ai_client_token_usage_total",
  help: "Tokens of requests to the model.",
  labelNames: ["gen_ai_request_model", "gen_ai_token_type"],
  registers,
});
export const toolCalls = new Counter({
  name: "signalbox_tool_calls_total",
  help: "Tool calls of models by tool and state.",
  labelNames: ["tool", "state"],
  registers,
});
export const posts = new Counter({
  name: "signalbox_posts_total",
  help: "Answers posted to trackers, by source and state.",
  labelNames: ["source", "state"],
  registers,
});
const requests = new Counter({
  name: "signalbox_outgoing_requests_total",
  help: "Requests to models, trackers and other hosts, by host and class of the status; error: no answer.",
  labelNames: ["host", "status"],
  registers,
});
export const executions = new Gauge({
  name: "signalbox_executions",
  help: "Unfinished executions, by state.",
  labelNames: ["state"],
  registers,
});
export const oldestQueued = new Gauge({
  name: "signalbox_oldest_queued_seconds",
  help: "Age of the oldest queued execution that is due and not paused.",
  registers,
});
export const refusedMessages = new Gauge({
  name: "signalbox_refused_messages",
  help: "Messages that a message queue refused and that are published again later.",
  labelNames: ["queue"],
  registers,
});
export const runningExecutions = new Gauge({
  name: "signalbox_running",
  help: "Executions that this replica runs now.",
  registers,
});
export const tableBytes = new Gauge({
  name: "signalbox_table_bytes",
  help: "Size of each table with its indexes.",
  labelNames: ["table"],
  registers,
});
export const connections = new Gauge({
  name: "signalbox_database_connections",
  help: "Open connections of this replica to the database, by state: busy or idle.",
  labelNames: ["state"],
  registers,
});
export const connectionWaiters = new Gauge({
  name: "signalbox_database_waiting",
  help: "Statements and transactions that wait for a connection to the database.",
  registers,
});
const rateRemaining = new Gauge({
  name: "signalbox_rate_limit_remaining",
  help: "Remaining requests in the rate limit of a host, from its last response. Absent for hosts that report none.",
  labelNames: ["host"],
  registers,
});
const checkUp = new Gauge({
  name: "signalbox_check_up",
  help: "Whether a part that GET /api/status checks works: 1, or 0 if its check has failed.",
  labelNames: ["check"],
  registers,
});
export const pluginUp = new Gauge({
  name: "signalbox_plugin_up",
  help: "Whether a plugin is running: 1 or 0.",
  labelNames: ["plugin"],
  registers,
});

const maxValues = 100;
const valuesByLabel = new Map<string, Set<string>>();
/** Limits an external label value, such as a model: after 100 different ones, it is `other`. */
export function labelValue(label: string, value: string): string {
  const values = valuesByLabel.get(label) ?? new Set();
  valuesByLabel.set(label, values);
  if (values.has(value)) return value;
  if (values.size >= maxValues) return "other";
  values.add(value);
  return value;
}

/** Replaces the metric of the checks. Of the checks with the same label, a failed one is shown. */
export function showChecks(checks: Iterable<readonly [name: string, works: boolean]>): void {
  const values = new Map<string, 0 | 1>();
  for (const [name, works] of checks) {
    const label = checkLabel(name);
    values.set(label, works && values.get(label) !== 0 ? 1 : 0);
  }
  checkUp.reset();
  for (const [check, value] of values) checkUp.set({ check }, value);
}

/**
 * Fixed names and accounts of the environment (`connection:alpha`) are their own label. The others, `kind:name`, have names that
 * users choose: after 100 of a kind, the label is `kind:(others)`.
 */
function checkLabel(name: string): string {
  const [, kind] = /^([^:]+):/.exec(name) ?? [];
  if (kind === undefined || /^connection:[^ (]+$/.test(name)) return name;
  const label = labelValue(`check ${kind}`, name);
  return label === "other" ? `${kind}:(others)` : label;
}

let isMeasuring = false;
/** Registers the metrics for memory, processor time and the lag of the event loop, once per process. */
export function measureProcess(): void {
  if (isMeasuring) return;
  isMeasuring = true;
  try {
    collectDefaultMetrics({ register: registry });
    // Gauges with names of counters, which `promtool check metrics` refuses. `nodejs_active_resources` contains the same values
    // by type.
    for (const kind of ["handles", "requests", "resources"]) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  } catch {
    // A runtime without Node's counters still has the service's own metrics.
  }
}

/**
 * A `fetch` that counts requests by host and status class, records the remaining rate limit from the responses, and logs each
 * request at the level `debug`.
 */
export const countRequests =
  (fetch: typeof globalThis.fetch, log: Pick<Log, "debug">): typeof globalThis.fetch =>
  async (input, init) => {
    const address = hostOf(input);
    const host = labelValue("host", address);
    const startedAt = performance.now();
    const request = () => ({
      method: (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase(),
      host: address,
      duration_ms: Math.round(performance.now() - startedAt),
    });
    try {
      const answer = await fetch(input, init);
      log.debug("request answered", { ...request(), status: answer.status });
      requests.inc({ host, status: `${Math.floor(answer.status / 100)}xx` });
      const left = headerOf(answer, "x-ratelimit-remaining") ?? headerOf(answer, "ratelimit-remaining");
      if (left !== null && /^\d{1,9}$/.test(left)) rateRemaining.set({ host }, Number(left));
      return answer;
    } catch (error) {
      requests.inc({ host, status: "error" });
      log.debug("request failed", { ...request(), code: codeOf(error) });
      throw error;
    }
  };

/** The kind of an error. Its message can contain the URL, and so secrets. */
function codeOf(error: unknown): string {
  const cause = innermost(error) as { code?: unknown; name?: unknown };
  return String(cause?.code ?? cause?.name ?? "unknown");
}

function hostOf(input: string | URL | Request): string {
  const address = input instanceof Request ? input.url : String(input);
  // Parsing a URL costs ten times as much as incrementing a counter.
  return /^https?:\/\/([^/?#@\\]+)(?:[/?#]|$)/.exec(address)?.[1] ?? (URL.canParse(address) ? new URL(address).host : "unknown");
}
