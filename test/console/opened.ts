import type { Tab } from "../harness/browser.ts";
import type { World } from "../harness/world.ts";

/** The console of a running service, opened in a browser, for groups of tests that share both. */
export interface Opened {
  readonly world: World;
  readonly tab: Tab;
  /** Sends the webhook of an issue of `octo/app` that was opened. */
  deliver(number: number, title: string, body?: string): ReturnType<World["service"]["webhook"]>;
}
