import { setTimeout as sleep } from "node:timers/promises";
import type { Receipt } from "../harness/webhooks.ts";
import { keyOf, type Ledger } from "./ledger.ts";
import { type Source, sources, webhookOf } from "./payloads.ts";
import type { Random } from "./random.ts";
import type { Replica } from "./replica.ts";
import type { Trackers } from "./trackers.ts";

/** One delivery, and the responses that its sender received. */
export interface Sent {
  readonly number: number;
  readonly source: Source;
  readonly issue: number;
  readonly id: string;
  /** When it was first sent, `performance.now()`. */
  readonly sentAt: number;
  /** The first response of 2xx; `null` until there is one. */
  receipt: Receipt | null;
  /** Responses of 2xx that named another event, or accepted it again. */
  readonly twice: Receipt[];
  /** Responses after which a sender does not repeat: 4xx. */
  refused: string | null;
  tries: number;
}

/** Time after which a platform stops waiting for a response. */
const answerMs = 10_000;
/** Time after which it stops repeating a delivery. */
const timeoutMs = 180_000;
const concurrency = 96;
/**
 * A delivery without a response for this long does not count in the backlog, because a platform continues to send its other
 * events.
 */
const overdueMs = 1_000;

interface SenderOptions {
  readonly replicas: readonly Replica[];
  readonly trackers: Trackers;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Each delivery starts one execution of each. */
  readonly tasks: readonly string[];
  /** Number of executions that are kept unfinished. */
  readonly backlog: number;
}

/** Sends webhooks like the four platforms: signed, and repeated under the same id until the response is 2xx. */
export class Sender {
  readonly sent: Sent[] = [];
  readonly #options: SenderOptions;
  readonly #open = new Set<Promise<void>>();
  readonly #unanswered = new Set<Sent>();
  #pumping: Promise<void> | null = null;
  #stopped = false;
  #most = Number.POSITIVE_INFINITY;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Keeps the backlog full until `stop`, or until this number of executions exists. */
  start(executions: number | null): void {
    this.#most = (executions ?? Number.POSITIVE_INFINITY) / this.#options.tasks.length;
    this.#stopped = false;
    this.#pumping = this.#pump();
  }
  get finished(): boolean {
    return this.sent.length >= this.#most;
  }
  /** Sends nothing new, and waits until all deliveries are answered or abandoned. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#pumping;
    await this.allAnswered();
  }
  async allAnswered(): Promise<void> {
    while (this.#open.size > 0) await Promise.race(this.#open);
  }

  async #pump(): Promise<void> {
    const { tasks, ledger, backlog } = this.#options;
    while (!this.#stopped && this.sent.length < this.#most) {
      const since = performance.now() - overdueMs;
      const overdue = [...this.#unanswered].filter(({ sentAt }) => sentAt < since).length;
      const unfinished = (this.sent.length - overdue) * tasks.length - ledger.finals;
      if (unfinished < backlog && this.#open.size < concurrency) this.send();
      else await sleep(10);
    }
  }

  /** Sends one more delivery, to the replica `to` or if it is absent, to any. */
  send({ to, source }: { to?: Replica; source?: Source } = {}): Sent {
    const { random, trackers } = this.#options;
    const number = this.sent.length + 1;
    // Some deliveries are about an issue that had one before.
    const earlier =
      !source && number > 40 && random.chance(0.15) ? this.sent[number - 2 - Math.floor(random.between(0, 30))] : null;
    const chosen = earlier?.source ?? source ?? (sources[number % sources.length] as Source);
    const issue = earlier?.issue ?? number;
    if (!earlier) trackers.all[chosen].addIssue(issue);
    const sent: Sent = {
      number,
      source: chosen,
      issue,
      id: `delivery-${number}`,
      sentAt: performance.now(),
      receipt: null,
      twice: [],
      refused: null,
      tries: 0,
    };
    this.sent.push(sent);
    this.#unanswered.add(sent);
    const open = this.#deliver(sent, to).finally(() => this.#open.delete(open));
    this.#open.add(open);
    return sent;
  }

  async #deliver(sent: Sent, to: Replica | undefined): Promise<void> {
    const { random, replicas } = this.#options;
    const title = `Login fails chaos-${sent.number}`;
    const { path, body, headers } = webhookOf(sent.source, sent.issue, title, sent.id);
    const end = performance.now() + timeoutMs;
    const again = random.chance(0.05);
    for (let wait = 250; performance.now() < end; wait = Math.min(4000, wait * 2)) {
      sent.tries++;
      try {
        const replica = to ?? random.pick(replicas);
        const { status, body: answer } = await replica.client.post<Receipt>(path, body, { headers, timeout: answerMs });
        if (status < 300) {
          if (sent.receipt && (answer.event_id !== sent.receipt.event_id || answer.status === "accepted"))
            sent.twice.push(answer);
          const first = !sent.receipt;
          sent.receipt ??= answer;
          this.#unanswered.delete(sent);
          // Some are repeated although they were answered.
          if (first && again) continue;
          return;
        }
        if (status < 500 && status !== 429) {
          sent.refused = `${status} ${JSON.stringify(answer)}`;
          return;
        }
      } catch {
        // There was no response, so it is sent again.
      }
      await sleep(wait * random.between(0.5, 1));
    }
  }

  /** The answers that should result from this delivery. */
  finalsOf({ number }: Sent): string[] {
    return this.#options.tasks.map((task) => keyOf(number, task, "final"));
  }
}
