import { expect, test } from "vitest";
import { Board } from "./board.ts";

test("a check that could not be made is made again for the next reader", async () => {
  let failure: Error | null = new Error("The database is unavailable");
  const run = () =>
    failure ? Promise.reject(failure) : Promise.resolve([{ name: "polls", state: "ok", message: "fine" } as const]);
  const board = new Board([{ name: "polls", everyMs: 60_000, run }]);
  expect(await board.read()).toMatchObject([{ state: "failed", message: "The database is unavailable" }]);
  failure = null;
  expect(await board.read()).toMatchObject([{ state: "ok", message: "fine" }]);
  board.close();
});
