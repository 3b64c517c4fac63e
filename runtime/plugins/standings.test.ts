import type { EventAuthor, Source } from "@signalbox/sdk";
import { afterEach, expect, test, vi } from "vitest";
import type { Connection } from "./connections.ts";
import { createStandings } from "./standings.ts";

const author = (id: string): EventAuthor => ({ id, name: id, kind: "human", standing: "unknown" });
const connectionWith = (standing: Source["standing"]) =>
  ({ missingSettings: [], settings: {}, source: { name: "beta", adapter: { standing } } }) as unknown as Connection;
const log = { warn: vi.fn() };
const nextTurn = () => new Promise((done) => setImmediate(done));

afterEach(() => void vi.useRealTimers());

test("the first call asks and does not wait; later ones have the answer, and one request is enough", async () => {
  const ask = vi.fn(async () => "member" as const);
  const standings = createStandings(log as never);
  const connection = connectionWith(ask);
  expect([1, 2].map(() => standings.of(connection, "octo/app", author("5")))).toEqual(["unknown", "unknown"]);
  await nextTurn();
  expect(standings.of(connection, "octo/app", author("5"))).toBe("member");
  expect(standings.of(connection, "octo/app", { ...author("5"), standing: "none" })).toBe("none");
  expect(ask).toHaveBeenCalledTimes(1);
  expect(standings.of(connection, "octo/other", author("5"))).toBe("unknown");
  expect(ask).toHaveBeenCalledTimes(2);
});

test("many strangers cause four requests at a time, and a failure is not cached", async () => {
  const gate = Promise.withResolvers<never>();
  const ask = vi.fn(() => gate.promise);
  const standings = createStandings(log as never);
  const connection = connectionWith(ask);
  for (let id = 0; id < 100; id++) standings.of(connection, "octo/app", author(String(id)));
  expect(ask).toHaveBeenCalledTimes(4);
  gate.reject(new Error("down"));
  await nextTurn();
  expect(standings.of(connection, "octo/app", author("0"))).toBe("unknown");
  expect(ask).toHaveBeenCalledTimes(4);
  expect(log.warn).toHaveBeenCalledTimes(4);
  standings.close();
});

test.each(["member", "none"] as const)(
  "after ten minutes, the standing %s permits nothing, but still restricts",
  async (standing) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const answers: (() => Promise<"member" | "none">)[] = [async () => standing, () => Promise.reject(new Error("down"))];
    const ask = vi.fn(() => (answers.shift() ?? (async () => "member" as const))());
    const standings = createStandings(log as never);
    const connection = connectionWith(ask);
    const known = () => [
      standings.of(connection, "octo/app", author("5")),
      standings.recent(connection, "octo/app", author("5")),
    ];
    const old = [standing === "none" ? "none" : "unknown", "unknown"];
    expect(await standings.find(connection, "octo/app", author("5"))).toBe(standing);
    vi.advanceTimersByTime(599_000);
    expect(known()).toEqual([standing, standing]);
    vi.advanceTimersByTime(2_000);
    // Neither while it is requested again, nor after that has failed.
    expect(known()).toEqual(old);
    await nextTurn();
    expect(known()).toEqual(old);
    expect(await standings.find(connection, "octo/app", author("5"))).toBe("unknown");
    expect(ask).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(61_000);
    expect(await standings.find(connection, "octo/app", author("5"))).toBe("member");
    expect(known()).toEqual(["member", "member"]);
  },
);
