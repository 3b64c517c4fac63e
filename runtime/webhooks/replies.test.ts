import { expect, test } from "vitest";
import { repliesTo } from "./replies.ts";

const subject = { project: "-", issue: "10001" };

/** What a platform that reports these details answers about the issue of an event that names it by an id. */
function nameFrom(describe: () => Promise<unknown>) {
  const connection = { source: { adapter: { describe } }, settings: {}, missingSettings: [] };
  const deps = { standings: {}, log: { warn: () => {} }, trackerUpdates: false };
  const [event, from, others] = [{ subject, author: null }, connection, deps] as unknown as Parameters<typeof repliesTo>;
  return repliesTo(event, from, others).findName?.();
}

test("an issue for which the platform knows no other name keeps its own, unlike one that could not be looked up", async () => {
  const known = { project: "APP", issue: "APP-1" };
  expect(await nameFrom(async () => ({ title: "Login fails", subject: known }))).toEqual(known);
  expect(await nameFrom(async () => ({ title: "Login fails" }))).toEqual(subject);
  expect(await nameFrom(() => Promise.reject(new Error("down")))).toBeNull();
});
