import type { EventAuthor, Source } from "@signalbox/sdk";
import { expect, test, vi } from "vitest";
import type { Connection } from "./connections.ts";
import { createStandings } from "./standings.ts";

const author = (id: string): EventAuthor => ({ id, name: id, kind: "human", standing: "unknown" });
const connectionWith = (standing: Source["standing"]) =>
  ({ missingSettings: [], settings: {}, source: { name: "beta", adapter: { standing } } }) as unknown as Connection;
const log = { warn: vi.fn() };
const nextTurn = () => new Promise((done) => setImmediate(done));

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
