import { inMemoryThrottle } from "@signalbox/sdk";
import { callContext, fakeCapabilities, setUpPlugin } from "@signalbox/sdk/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { clients } from "./client.ts";
import alpha from "./index.ts";
import { settings } from "./settings.ts";

test("writes to the public platform keep its interval", async () => {
  const times: number[] = [];
  const counting = async () => {
    times.push(performance.now());
    return Response.json({ id: times.length, html_url: "u" }, { status: 201 });
  };
  const { sources } = await setUpPlugin(alpha, { capabilities: fakeCapabilities({ fetch: counting }) });
  const deliver = () =>
    sources?.alpha?.deliver(
      { subject: { project: "octo/app", issue: "1" }, body: "x" },
      callContext(settings.parse({ token: "paced" })),
    );
  await Promise.all([deliver(), deliver()]);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2900);
});

describe("a burst of 1,000 comments", () => {
  beforeEach(() => void vi.useFakeTimers({ now: 0, toFake: ["setTimeout", "clearTimeout", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  test.for([
    ["a server that takes 80 a minute and answers 403 above that", "https://git.example/api/v3", 20],
    ["the public platform, three seconds apart", "https://api.github.com", 60],
  ] as const)(
    "from two replicas to %s: no comment is refused twice, lost or posted twice",
    { timeout: 60_000 },
    async ([, api_url, minutes]) => {
      const written: string[] = [];
      const refused = new Map<string, number>();
      let [minute, used] = [-1, 0];
      const counting = (async (_: unknown, init?: RequestInit) => {
        await new Promise((done) => setTimeout(done, 80));
        const { body } = JSON.parse(String(init?.body)) as { body: string };
        const now = Math.floor(Date.now() / 60_000);
        if (now !== minute) [minute, used] = [now, 0];
        if (used >= 80) {
          refused.set(body, (refused.get(body) ?? 0) + 1);
          const wait = String(Math.ceil(((now + 1) * 60_000 - Date.now()) / 1000));
          return Response.json({ message: "secondary rate limit" }, { status: 403, headers: { "retry-after": wait } });
        }
        used += 1;
        written.push(body);
        return Response.json({ id: written.length, html_url: "u" }, { status: 201 });
      }) as typeof globalThis.fetch;
      const shared = inMemoryThrottle();
      const replicas = [0, 1].map(() =>
        clients({ fetch: counting, log: () => {}, throttle: shared })(settings.parse({ token: "t", api_url })),
      );
      const { signal } = new AbortController();
      const route = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
      const all = Promise.all(
        Array.from({ length: 1000 }, (_, at) =>
          replicas[at % 2]?.write(
            route,
            { owner: "octo", repo: "app", issue_number: 1, body: `c${at}` },
            z.object({ id: z.number() }),
            signal,
          ),
        ),
      );
      await vi.advanceTimersByTimeAsync(minutes * 60_000);
      await all;
      expect(written.toSorted()).toEqual(Array.from({ length: 1000 }, (_, at) => `c${at}`).toSorted());
      expect([...refused.values()].filter((times) => times > 1)).toEqual([]);
      if (api_url === "https://api.github.com") expect(refused.size).toBe(0);
    },
  );
});
