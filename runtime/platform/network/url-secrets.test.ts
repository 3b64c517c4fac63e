import { expect, test } from "vitest";
import { secretsInUrl, withoutUrlSecrets } from "./url-secrets.ts";

test.each([
  ["https://a.example/mcp?access_token=t0ken-1", ["t0ken-1"]],
  ["https://a.example/?page=2&API-Key=abc%2Fdef&x=longer", ["abc%2Fdef", "abc/def"]],
  ["https://user:p%40ss-word@a.example/", ["p%40ss-word", "p@ss-word"]],
  ["https://a.example/?token=a&token=second-one&sig", ["second-one"]],
  ["https://a.example/?token=50%", []],
  ["https://a.example/?token=100%25%", ["100%25%", "100%%"]],
  ["https://a.example/?accessToken=camel-1&apiKey=camel-2", ["camel-1", "camel-2"]],
  ["https://a.example/?api%5Fkey=enc%2Foded", ["enc%2Foded", "enc/oded"]],
  ["nats://t0ken-only@a.example:4222", ["t0ken-only"]],
  ["https://a.example/?project_key=SHOP2&author=web-bot&keyword=a-word&design=new-one&assignee=some-one", []],
  ["not a URL", []],
])("secrets in %s", (url, secrets) => expect(secretsInUrl(url)).toEqual(secrets));

test("an answer that repeats the request is shown without them", () => {
  const url = "https://a.example/mcp?access_token=abc%2Fdef&page=page1";
  expect(withoutUrlSecrets("no /mcp?access_token=abc%2Fdef&page=page1 (abc/def)", url)).toBe(
    "no /mcp?access_token=[redacted]&page=page1 ([redacted])",
  );
});
