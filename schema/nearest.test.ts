import { expect, test } from "vitest";
import { nearestName } from "./nearest.ts";

test.each([
  ["stat", "state"],
  ["staet", "state"],
  ["STATE", "state"],
  ["agentid", "agent_id"],
  ["limti", "limit"],
  ["page", null],
  ["x", null],
])("%s: %s", (given, expected) => {
  expect(nearestName(given, ["state", "agent_id", "limit", "offset"])).toBe(expected);
});
