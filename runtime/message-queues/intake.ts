import { Problem, problem } from "@signalbox/schema/problem";
import type { ForwardingQueue, IncomingOutcome, IncomingWebhook, Json, Queue } from "@signalbox/sdk";
import { causeOf } from "../platform/error-text.ts";
import type { Log } from "../platform/log.ts";
import { runInOrder } from "../webhooks/in-order.ts";
import type { Receiver } from "../webhooks/receive.ts";
import type { Entry, InOrder } from "../webhooks/received-webhook.ts";
import { intakeFailure, ofQueue, WebhookFailed } from "./failures.ts";
import { Loops, loopEach, type RunResult } from "./loops.ts";
import type { QueueWorker } from "./relay.ts";

interface IntakeOptions {
  /** Queues of the loaded plugins; call `refresh` after a change. */
  readonly queues: ReadonlyMap<string, Queue | ForwardingQueue>;
  readonly receiver: Receiver;
  readonly log: Log;
}

const atOnce = 200;
/** How long a feed waits for the first webhook, and how long a stop can take. */
const waitSeconds = 2;
/** Interval between two looks at a queue that feeds no webhooks, and wait after a failure, in milliseconds. */
const everyMs = 1_000;

/**
 * Receives webhooks from queues that feed them. Each is acknowledged once its event is durable, so after a crash it is delivered
 * again. The repetition is recognised as a duplicate by the delivery id of its source or the id of its message. Replicas share a
 * feed through its message bus.
 */
export function startIntake({ queues, receiver, log }: IntakeOptions): QueueWorker {
  const take = async (queue: Queue | ForwardingQueue, name: string): Promise<RunResult> => {
    if (!queue.receive || !queue.acknowledge) return "done";
    const webhooks = await ofQueue(queue.receive({ limit: atOnce, wait_seconds: waitSeconds }));
    if (webhooks.length === 0) return "more";
    // A failure is a result, so that it does not keep the events after it from being stored.
    const results = await Promise.all(
      runInOrder(webhooks, (one, inOrder) => accept(one, inOrder, receiver).then(storedResult, failed)),
    );
    const outcomes = webhooks.map(({ receipt }, i) => ({ receipt, outcome: results[i]?.outcome ?? "failed" }) as const);
    await ofQueue(queue.acknowledge(outcomes));
    for (const { error } of results)
      if (error instanceof Problem && error.status < 500)
        log.warn(`refused a webhook of the queue ${name}`, { reason: error.message });
    const fault = results.find(({ outcome }) => outcome === "failed");
    if (fault) throw new WebhookFailed(causeOf(fault.error), { cause: fault.error });
    return "more";
  };
  const loops = new Loops(log);
  const failure = (name: string) => `failed to take webhooks from the queue ${name}`;
  const refresh = loopEach(loops, { queues, failure, everyMs, run: take });
  return { refresh, failureOf: (name) => loops.failureOf(name, intakeFailure), stop: () => loops.stop() };
}

interface Result {
  readonly outcome: IncomingOutcome["outcome"];
  readonly error?: unknown;
}
const storedResult = (): Result => ({ outcome: "stored" });
/** A webhook that no repetition can make valid is refused; all others are delivered again. */
const failed = (error: unknown): Result =>
  error instanceof Problem && error.status < 500 && error.status !== 429
    ? { outcome: "refused", error }
    : { outcome: "failed", error };

/** The same checks as over HTTP: the path, the signature, the JSON. Throws a problem. */
async function accept(webhook: IncomingWebhook, inOrder: InOrder, receiver: Receiver): Promise<void> {
  const { webhook: slug, headers, id: messageId } = webhook;
  const body = new TextEncoder().encode(webhook.body);
  const head = { headers, address: () => null };
  let entry: Entry | undefined;
  try {
    const admitted = await receiver.admit(slug, head);
    entry = admitted.entry;
    const verified = await receiver.verify(entry, { ...head, body });
    const read = await receiver.parseJson(body);
    if (!("value" in read)) throw problem("bad_request", "The message is not valid JSON, or is nested too deep.");
    const request = { ...head, body, signed: admitted.needsProof };
    await receiver.accept(verified, request, read.value as Json, { origin: { kind: "message", messageId }, inOrder });
  } catch (error) {
    if (error instanceof Problem && error.status < 500) receiver.noteRefusal(slug, entry, head, error.message);
    throw error;
  }
}
