import type { IncomingWebhook } from "./queue.ts";

/** Maximum size of a webhook that a feed can pass to the host, in bytes of its JSON. */
export const maxIncomingBytes: number = 3_000_000;
/** Number of waiting bytes above which `room` waits. */
const roomBytes = 8_000_000;
/** Bytes of the webhooks of one `take`, unless the first alone has more. */
const batchBytes = 1_000_000;

const encoder = new TextEncoder();

/** Webhooks between a bus that pushes messages and a host that asks for them. */
export class IncomingBacklog {
  #waiting: { readonly webhook: IncomingWebhook; readonly bytes: number }[] = [];
  #bytes = 0;
  readonly #takers = new Set<() => void>();
  #freed = Promise.withResolvers<void>();

  /** Adds a webhook. Returns `false` if it is longer than `maxIncomingBytes`: it is not added, and the bus should refuse it. */
  add(webhook: IncomingWebhook): boolean {
    const { byteLength: bytes } = encoder.encode(JSON.stringify(webhook));
    if (bytes > maxIncomingBytes) return false;
    this.#waiting.push({ webhook, bytes });
    this.#bytes += bytes;
    this.#wake();
    return true;
  }

  /** Resolves when there is room for more. Do not read from the bus before. */
  async room(): Promise<void> {
    while (this.#bytes > roomBytes) await this.#freed.promise;
  }

  /** Forgets all webhooks. Call it after a lost connection, because the bus delivers them again. */
  clear(): void {
    this.#remove(this.#waiting.length);
    this.#wake();
  }

  /** Returns the oldest webhooks; waits up to `wait_seconds` for the first. */
  async take({ limit, wait_seconds }: { limit: number; wait_seconds: number }): Promise<IncomingWebhook[]> {
    if (this.#waiting.length === 0) await this.#arrival(wait_seconds * 1000);
    let [count, bytes] = [0, 0];
    for (const one of this.#waiting) {
      bytes += one.bytes;
      if (count >= limit || (count > 0 && bytes > batchBytes)) break;
      count += 1;
    }
    return this.#remove(count);
  }

  #remove(count: number): IncomingWebhook[] {
    const removed = this.#waiting.splice(0, count);
    for (const { bytes } of removed) this.#bytes -= bytes;
    this.#freed.resolve();
    this.#freed = Promise.withResolvers<void>();
    return removed.map(({ webhook }) => webhook);
  }

  #arrival(ms: number): Promise<void> {
    return new Promise((done) => {
      const end = () => {
        clearTimeout(timer);
        this.#takers.delete(end);
        done();
      };
      const timer = setTimeout(end, ms);
      this.#takers.add(end);
    });
  }

  #wake(): void {
    for (const end of [...this.#takers]) end();
  }
}
