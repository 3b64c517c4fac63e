import { describe, expect, test } from "vitest";
import { extensionHeaders, recordReads, withoutSecrets } from "./stored-headers.ts";

const sent = {
  "x-alpha-event": "issues",
  "x-alpha-delivery": "d",
  "x-other": "o",
  "user-agent": "u",
  "x-password": "1",
  "x-my-token": "2",
  authorization: "3",
  "x-api-key": "4",
  "x-hub-signature-256": "5",
  cookie: "6",
  "x-auth": "7",
  "x-passphrase": "8",
  "x-session-id": "9",
  "x-credentials": "0",
};

describe("an event keeps the headers that its source reads", () => {
  test.each<[string, (headers: Readonly<Record<string, string>>) => unknown]>([
    ["by name", (headers) => headers["x-alpha-event"]],
    ["by `in`", (headers) => "x-alpha-event" in headers],
    ["by hasOwn", (headers) => Object.hasOwn(headers, "x-alpha-event")],
    ["among those that are not there", (headers) => [headers["x-alpha-event"], headers["x-none"]]],
  ])("%s, and no others", (_, read) => {
    const recorded = recordReads(sent);
    read(recorded.headers);
    expect(recorded.read()).toEqual({ "x-alpha-event": "issues" });
  });

  test("but no credential, whatever its name", () => {
    const recorded = recordReads(sent);
    expect(Object.entries(recorded.headers)).toHaveLength(Object.keys(sent).length);
    expect(recorded.read()).toEqual({
      "x-alpha-event": "issues",
      "x-alpha-delivery": "d",
      "x-other": "o",
      "user-agent": "u",
    });
  });

  test("of a sandboxed source the x- headers, without its own proof", () => {
    expect(extensionHeaders(sent, "X-Other")).toEqual({ "x-alpha-event": "issues", "x-alpha-delivery": "d" });
  });

  test("not the header by which a webhook mapping is proven", () => {
    expect(withoutSecrets({ "x-alpha-event": "issues", "x-proof": "p" }, (name) => name !== "x-proof")).toEqual({
      "x-alpha-event": "issues",
    });
  });
});
