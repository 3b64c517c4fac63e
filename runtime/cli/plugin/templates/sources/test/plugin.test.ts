import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../src/parse.ts";
import commented from "./webhooks/commented.json" with { type: "json" };

// Your own tests, which run in this process. `signalbox plugin test` runs the cases that every source must pass, in the sandbox.
test("a webhook without an issue names what is missing", () => {
  const { issue: _, ...payload } = commented.payload;
  assert.equal(parse({ headers: commented.headers, payload }).missing_field, "issue.number");
});
