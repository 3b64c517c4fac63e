import { PluginError } from "@signalbox/sdk";
import { expect, test } from "vitest";
import { DatabaseUnavailable } from "./database/unavailable.ts";
import { retryRemote } from "./remote-calls.ts";
import { Failure } from "./retry.ts";

const failing = (error: Error) => {
  let calls = 0;
  const act = () => {
    calls++;
    return Promise.reject(error);
  };
  return { act, calls: () => calls };
};
const run = (act: () => Promise<never>) => retryRemote(act, new AbortController().signal).catch((error: unknown) => error);

test("a failure of our own database is neither repeated nor taken for one of the other side, however it is wrapped", async () => {
  const lost = new DatabaseUnavailable("The database did not answer in time.");
  for (const error of [
    lost,
    new Error("request failed", { cause: lost }),
    new PluginError("unavailable", "no answer", { cause: new TypeError("fetch failed", { cause: lost }) }),
  ]) {
    const { act, calls } = failing(error);
    expect(await run(act)).toBe(lost);
    expect(calls()).toBe(1);
  }
});

test("any other error becomes a failure of the call", async () => {
  const { act } = failing(new PluginError("not_found", "no such issue"));
  expect(await run(act)).toEqual(expect.objectContaining({ message: "no such issue", retryable: false }));
  expect(await run(act)).toBeInstanceOf(Failure);
});
