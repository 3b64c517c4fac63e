import type { Report } from "../platform/log.ts";
import type { Host } from "./host.ts";
import type { LoadedPlugin } from "./load.ts";

interface ServedContributionsDeps {
  readonly host: Host;
  readonly alarm: Report;
  /** Called when the host's contributions changed. */
  readonly onContributions: () => Promise<void> | void;
}

/**
 * The contributions of third-party plugins to the host, including those that are skipped because another plugin has their names.
 */
export class ServedContributions {
  readonly #deps: ServedContributionsDeps;
  readonly #skipped = new Map<string, readonly string[]>();

  constructor(deps: ServedContributionsDeps) {
    this.#deps = deps;
  }

  /** Contributions of a plugin that are not available: `queues.audit`. */
  skippedNames(id: string): readonly string[] {
    return this.#skipped.get(id) ?? [];
  }

  /** Replaces the previous contributions of a plugin's id with the given ones. */
  async serve(loaded: LoadedPlugin): Promise<void> {
    const { id } = loaded.plugin;
    const { host, alarm, onContributions } = this.#deps;
    host.remove(id);
    const skippedNames = host.add(loaded);
    this.#skipped.set(id, skippedNames);
    if (skippedNames.length > 0)
      alarm("another plugin already uses the names of a plugin's contributions", { plugin: id, skipped: skippedNames });
    await onContributions();
  }

  async remove(id: string): Promise<void> {
    this.#skipped.delete(id);
    this.#deps.host.remove(id);
    await this.#deps.onContributions();
  }
}
