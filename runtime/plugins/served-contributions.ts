import type { Report } from "../platform/log.ts";
import type { Host } from "./host.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";

interface ServedContributionsDeps {
  readonly host: Host;
  readonly alarm: Report;
  /** Called when the host's contributions changed. */
  readonly contributed: () => Promise<void> | void;
}

/** What third-party plugins contribute to the host, and which of it is skipped because another plugin has its name. */
export class ServedContributions {
  readonly #deps: ServedContributionsDeps;
  readonly #skipped = new Map<string, readonly string[]>();

  constructor(deps: ServedContributionsDeps) {
    this.#deps = deps;
  }

  /** Contributions of a plugin that are not in service: `queues.audit`. */
  skipped(id: string): readonly string[] {
    return this.#skipped.get(id) ?? [];
  }

  /** Puts a plugin's contributions in place of those that its id had before. */
  async serve({ manifest: { id }, loaded }: LoadedThirdParty): Promise<void> {
    const { host, alarm, contributed } = this.#deps;
    host.remove(id);
    const skipped = host.add(loaded);
    this.#skipped.set(id, skipped);
    if (skipped.length > 0) alarm("another plugin already uses the names of a plugin's contributions", { plugin: id, skipped });
    await contributed();
  }

  async remove(id: string): Promise<void> {
    this.#skipped.delete(id);
    this.#deps.host.remove(id);
    await this.#deps.contributed();
  }
}
