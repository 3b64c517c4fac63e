/**
 * The edits that this process made, by change key. A polled edit does not tell who made it, so without this an agent
 * that edits descriptions would be started by its own edit. Bounded; other replicas do not know of it.
 */
export class OwnEdits {
  readonly #keys = new Set<string>();

  add(key: string | null): void {
    if (key === null) return;
    if (this.#keys.size >= 5000) this.#keys.delete(this.#keys.values().next().value as string);
    this.#keys.add(key);
  }

  has(key: string | null): boolean {
    return key !== null && this.#keys.has(key);
  }
}
