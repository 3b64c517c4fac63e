/** What a comment of this run says it is: `chaos-17-first-final`, `chaos-17-first-note1`. */
export interface Written {
  /** Number of the delivery. */
  readonly delivery: number;
  readonly task: string;
  /** `final` for the answer; a name for each call of a tool that the model made. */
  readonly part: string;
  /** All of it, as the text has it. */
  readonly key: string;
}

const shape = /chaos-(\d+)-([a-z]+)-(final|note\d+(?:try\d+)?)/;

export const keyOf = (delivery: number, task: string, part: string): string => `chaos-${delivery}-${task}-${part}`;

/** Reads what a comment's text says; `null` for other texts. */
export function writtenIn(text: string): Written | null {
  const [key, delivery, task, part] = shape.exec(text) ?? [];
  return key && task && part ? { key, delivery: Number(delivery), task, part } : null;
}

/** What a living comment says while its run goes on. */
export const isSign = (text: string): boolean => text.includes("is working on this");

/** What happened at the trackers, as it happens. */
export class Ledger {
  /** Of each key, when a comment with it appeared at a tracker, milliseconds since the start. */
  readonly #posts = new Map<string, number[]>();
  /** Tool calls that the service reported to the model as successful. */
  readonly confirmed = new Set<string>();
  #finals = 0;
  /** Edits that the trackers carried out. */
  edits = 0;
  /** When something was last written or deleted. */
  lastChange = performance.now();

  /** Answers that appeared at a tracker, each counted once. */
  get finals(): number {
    return this.#finals;
  }

  posted(text: string): void {
    this.lastChange = performance.now();
    const written = writtenIn(text);
    if (!written) return;
    const before = this.#posts.get(written.key);
    if (before) before.push(this.lastChange);
    else this.#posts.set(written.key, [this.lastChange]);
    if (!before && written.part === "final") this.#finals++;
  }
  /** A living comment gets its answer by an edit. */
  edited(text: string): void {
    this.edits++;
    this.posted(text);
  }
  deleted(): void {
    this.lastChange = performance.now();
  }
  has(key: string): boolean {
    return this.#posts.has(key);
  }
  /** When each comment with this key appeared, in words. */
  history(key: string): string {
    const at = this.#posts.get(key) ?? [];
    return at.map((ms) => `${(ms / 1000).toFixed(1)} s`).join(", ");
  }
}
