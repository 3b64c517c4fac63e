import { expect, test } from "vitest";
import { commonWords, failureKind } from "./failure-kind.ts";

const refusalText = (status: number, issue: number) =>
  `alpha answered ${status} to POST /repos/acme/app${issue}/issues/${issue}/comments: Bad credentials`;

test("errors that differ only in ids, addresses and numbers have one kind; another status is another kind", () => {
  expect(failureKind(refusalText(401, 1))).toBe(failureKind(refusalText(401, 22)));
  expect(failureKind(refusalText(401, 1))).not.toBe(failureKind(refusalText(403, 1)));
  expect(failureKind("The LLM answered 404: no model")).not.toBe(failureKind("The LLM answered 401: no model"));
  expect(failureKind("Lost after 12 s: 01a21b70-996d-7001-a45a-9fd0dc27b58c")).toBe(
    failureKind("Lost after 7 s: 01a21b70-996d-7000-a817-e3faac0f8b00"),
  );
});

test("common words are in each error of a kind", () => {
  expect(commonWords(refusalText(401, 1))).toBe("alpha answered 401 to POST");
  expect(commonWords("3 could not be written")).toBe("3 could not be written");
});
