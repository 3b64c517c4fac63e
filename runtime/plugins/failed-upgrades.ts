import type { Report } from "../platform/log.ts";
import { type InstalledPlugin, loadsTheSame } from "./installed-plugin.ts";
import { refusedPlugin } from "./load.ts";
import type { PluginRow } from "./queries.ts";

interface FailedUpgrade {
  readonly row: PluginRow;
  readonly code: string;
  readonly reason: string;
}

/** Versions and settings that could not start, by plugin. The previous version continues to run. */
export class FailedUpgrades {
  readonly #all = new Map<string, FailedUpgrade>();
  readonly #alarm: Report;

  constructor({ alarm }: { readonly alarm: Report }) {
    this.#alarm = alarm;
  }

  of(id: string): Pick<FailedUpgrade, "code" | "reason"> | undefined {
    return this.#all.get(id);
  }
  /** Whether exactly this row has failed. It is not retried automatically. */
  has(row: PluginRow): boolean {
    const failed = this.#all.get(row.id);
    return failed !== undefined && loadsTheSame(row, failed.row);
  }
  /** Allows the upgrade to be tried again. Returns whether there was a failed one. */
  forget(id: string): boolean {
    return this.#all.delete(id);
  }

  add(row: PluginRow, current: InstalledPlugin, error: unknown): void {
    const { code, reason } = refusedPlugin(row.id, error);
    const serving = current.manifest.version;
    const what = row.version === serving ? "its new settings or permissions" : `version ${row.version}`;
    const message = `${what} could not start (${code}: ${reason}); ${serving} keeps serving`;
    this.#all.set(row.id, { row, code, reason: message });
    this.#alarm("a plugin's upgrade failed to start", { plugin: row.id, version: row.version, serving, code, reason });
  }
}
