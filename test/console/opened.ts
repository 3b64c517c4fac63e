import type { Tab } from "../harness/browser.ts";
import type { World } from "../harness/world.ts";

/** The console of a running service, opened in a browser, for groups of tests that share both. */
export interface Opened {
  readonly world: World;
  readonly tab: Tab;
  /** Sends the webhook of an issue of `octo/app` that was opened. */
  deliver(number: number, title: string, body?: string): ReturnType<World["service"]["webhook"]>;
}

/** A test during which the comments of `pm_default` need an approval. Later tests do not, even if this one fails. */
export const withApproval = (opened: () => Opened, run: (parts: Opened) => Promise<void>) => async (): Promise<void> => {
  const policy = (value: object) => opened().world.service.put("/api/agents/pm_default", { policy: value });
  await policy({ approve: ["comment"] });
  try {
    await run(opened());
  } finally {
    await policy({});
  }
};
