import { expect, test } from "vitest";
import { findName } from "./replies.ts";

const subject = { project: "-", issue: "10001" };

/** What a platform that reports these details answers about the issue of an event that names it by an id. */
function nameFrom(describe: () => Promise<unknown>) {
  const connection = { source: { adapter: { describe } }, settings: {}, missingSettings: [] };
  return findName(subject, connection as unknown as Parameters<typeof findName>[1], { warn: () => {} });
}

test("an issue for which the platform knows no other name keeps its own, unlike one that could not be looked up", async () => {
  const known = { project: "APP", issue: "APP-1" };
  expect(await nameFrom(async () => ({ title: "Login fails", subject: known }))).toEqual(known);
  expect(await nameFrom(async () => ({ title: "Login fails" }))).toEqual(subject);
  expect(await nameFrom(() => Promise.reject(new Error("down")))).toBeNull();
});
