/** The mark in a comment of this run: `chaos-17-first-final`, `chaos-17-first-note1`. */
export interface Written {
  /** Number of the delivery. */
  readonly delivery: number;
  readonly task: string;
  /** `final` for the answer; a name for each tool call of the model. */
  readonly part: string;
  /** The whole mark, as it is in the text. */
  readonly key: string;
}

const shape = /chaos-(\d+)-([a-z]+)-(final|note\d+(?:try\d+)?)/;

export const keyOf = (delivery: number, task: string, part: string): string => `chaos-${delivery}-${task}-${part}`;

/** Reads the mark in the text of a comment; `null` for other texts. */
export function writtenIn(text: string): Written | null {
  const [key, delivery, task, part] = shape.exec(text) ?? [];
  return key && task && part ? { key, delivery: Number(delivery), task, part } : null;
}

/** The text of a living comment while its run continues. */
export const isSign = (text: string): boolean => text.includes("is working on this");

/** Records events at the trackers when they occur. */
export class Ledger {
  /** For each key, when comments with it appeared at a tracker, in milliseconds since the start. */
  readonly #posts = new Map<string, number[]>();
  /** Tool calls that the service reported to the model as successful. */
  readonly confirmed = new Set<string>();
  #finals = 0;
  /** Number of edits that the trackers carried out. */
  edits = 0;
  /** When a comment was last written or deleted. */
  lastChange = performance.now();

  /** Number of answers that appeared at a tracker, each counted once. */
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
  /** A living comment receives its answer by an edit. */
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
