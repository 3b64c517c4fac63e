import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dataOf, failureOf } from "./failure.ts";

describe("failureOf", () => {
  const of = (status: number, headers: Record<string, string> = {}, text = "no") =>
    failureOf({ requestLine: "GET /x", status, headers: new Headers(headers), text }, ["s3cret"]);

  test.for([
    [400, "invalid_input"],
    [401, "unauthorized"],
    [403, "unauthorized"],
    [404, "not_found"],
    [409, "conflict"],
    [301, "conflict"],
    [302, "unavailable"],
    [307, "conflict"],
    [410, "not_found"],
    [418, "failed"],
    [422, "invalid_input"],
    [429, "rate_limited"],
    [500, "unavailable"],
    [503, "unavailable"],
  ] as const)("%i is %s", ([status, code]) => expect(of(status)).toMatchObject({ code }));

  test("reads every form of a wait", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    expect(of(403, { "retry-after": "7" })).toMatchObject({ code: "rate_limited", retry_after_ms: 7000 });
    expect(of(403, {}, "You have exceeded a secondary rate limit")).toMatchObject({
      code: "rate_limited",
      retry_after_ms: 60_000,
    });
    const date = new Date(Date.now() + 20_000).toUTCString();
    expect(of(429, { "retry-after": date }).retry_after_ms).toBeGreaterThan(15_000);
    const reset = String(Math.floor(Date.now() / 1000) + 100);
    expect(of(403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset }).retry_after_ms).toBeGreaterThan(95_000);
    expect(of(429).retry_after_ms).toBeUndefined();
    expect(of(503, { "retry-after": "120" })).toMatchObject({ code: "unavailable", retry_after_ms: 120_000 });
    expect(of(502, { "retry-after": "120" }).retry_after_ms).toBeUndefined();
  });

  test("has the platform's message with its details, or the text of another answer, without secrets", () => {
    const because = (text: string) => of(422, {}, text).message.replace("alpha answered 422 to GET /x: ", "");
    expect(because("token s3cret is bad")).toBe("token [redacted] is bad");
    expect(because('{"message":"Validation Failed","errors":[{"code":"missing"}],"documentation_url":"https://docs/x"}')).toBe(
      'Validation Failed: {"code":"missing"} - https://docs/x',
    );
    expect(because('{"error":"s3cret"}')).toBe('{"error":"[redacted]"}');
  });
});

test("a failure of the GraphQL API itself can be tried again, a refusal cannot", () => {
  const of = (message: string) => () => dataOf({ data: null, errors: [{ message }] });
  const broken = "Something went wrong while executing your query. Please include `0C:1` when reporting this issue.";
  expect(of(broken)).toThrow(expect.objectContaining({ code: "unavailable", retryable: true }));
  expect(of("Field 'x' doesn't exist")).toThrow(expect.objectContaining({ code: "failed" }));
});
