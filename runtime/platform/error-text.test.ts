import { expect, test } from "vitest";
import { DatabaseUnavailable } from "./database/unavailable.ts";
import { causeOf } from "./error-text.ts";

test("the innermost cause is added unless the message names it", () => {
  const cause = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:5432"), { code: "ECONNREFUSED" });
  expect(causeOf(new TypeError("fetch failed", { cause }))).toBe("fetch failed: connect ECONNREFUSED 127.0.0.1:5432");
  expect(causeOf(new DatabaseUnavailable("The database is unavailable (127.0.0.1:5432, ECONNREFUSED).", { cause }))).toBe(
    "The database is unavailable (127.0.0.1:5432, ECONNREFUSED).",
  );
  expect(causeOf(new Error("It ended.", { cause: new Error("no memory") }))).toBe("It ended: no memory");
});
