import { AsyncLocalStorage } from "node:async_hooks";
import { fetchOnce } from "../fetch-once.ts";
import type { Plugin } from "../plugin.ts";
import type { TestCase, TestTracker } from "./fixtures.ts";

type Start = () => Promise<TestTracker>;

/** Redirects a plugin's requests to the hosts that it declares to the tracker of the current case. */
export interface FixedHosts {
  readonly fetch: typeof globalThis.fetch;
  /** Starts a tracker that also answers for these hosts. */
  readonly started: (start: Start) => Start;
  readonly within: (one: TestCase) => TestCase;
}

/** For platforms with the same URL for all users, whose connections have no URL in their settings. Cases may run concurrently. */
export function fixedHosts({ hosts = [] }: Pick<Plugin, "hosts">): FixedHosts {
  const underWay = new AsyncLocalStorage<{ url: string | null }>();
  return {
    fetch: fetchOnce((input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const to = hosts.includes(url.host) ? (underWay.getStore()?.url ?? "http://127.0.0.1:9") : url;
      return globalThis.fetch(new URL(url.pathname + url.search, to), init);
    }),
    started: (start) => async () => {
      const tracker = await start();
      const current = underWay.getStore();
      if (current) current.url = tracker.url;
      return tracker;
    },
    within: (one) => ({ ...one, run: () => underWay.run({ url: null }, one.run) }),
  };
}
