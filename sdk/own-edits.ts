/**
 * The change keys of the edits that this process made. A polled edit does not name its author, so an agent that edits a
 * description would otherwise be triggered by its own edit. Holds the last 5,000 keys; other replicas do not share it.
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
