import { AsyncLocalStorage } from "node:async_hooks";
import { fetchOnce } from "../fetch-once.ts";
import type { Plugin } from "../plugin.ts";
import type { TestCase, TestTracker } from "./fixtures.ts";

type Start = () => Promise<TestTracker>;

/** Leads the requests of a plugin to the hosts that it declares to the tracker of the case under way. */
export interface FixedHosts {
  readonly fetch: typeof globalThis.fetch;
  /** The same tracker, which then answers for these hosts too. */
  readonly started: (start: Start) => Start;
  readonly within: (one: TestCase) => TestCase;
}

/** A platform with one address for everybody has none in the settings of a connection. Cases may run concurrently. */
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
