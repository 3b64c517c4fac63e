import { afterEach, expect, test, vi } from "vitest";
import { createStandings } from "../plugins/standings.ts";
import { withLateStanding } from "./late-standing.ts";

afterEach(() => void vi.useRealTimers());

test.each([
  ["none", "none"],
  ["member", "unknown"],
] as const)("while the platform does not answer, the old standing %s counts as %s", async (old, counts) => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const ask = vi.fn<() => Promise<"none" | "member">>(() => Promise.reject(new Error("down"))).mockResolvedValueOnce(old);
  const connection = { missingSettings: [], settings: {}, source: { name: "beta", adapter: { standing: ask } } } as never;
  const author = { id: "5", name: "ann", kind: "human", standing: "unknown" } as const;
  const standings = createStandings({ warn: () => {} } as never);
  expect(await standings.find(connection, "octo/app", author)).toBe(old);
  vi.advanceTimersByTime(601_000);
  const execution = { origin: { author }, author_standing: "unknown", project: "octo/app", event_id: "1", is_released: true };
  const deps = { sql: async () => [], standings, connectionFor: async () => connection };
  const known = await withLateStanding(execution as never, deps as never);
  expect(known.origin?.author?.standing).toBe(counts);
  expect(ask).toHaveBeenCalledTimes(2);
  standings.close();
});
