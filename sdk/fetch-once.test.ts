import { expect, test } from "vitest";
import { fetchOnce } from "./fetch-once.ts";

const sent: RequestInit[] = [];
const fetch = async (_: unknown, init: RequestInit = {}) => {
  sent.push(init);
  return new Response(init.body as ReadableStream);
};

test("on Deno a body is streamed, so it cannot be sent twice, and arrives whole", async () => {
  const once = fetchOnce(fetch as never, true);
  for (const body of ["süß", new TextEncoder().encode("süß")]) {
    expect(await (await once("http://x", { method: "POST", body, headers: { "x-a": "1" } })).text()).toBe("süß");
    expect(sent.at(-1)?.body).toBeInstanceOf(ReadableStream);
    expect(new Headers(sent.at(-1)?.headers).get("x-a")).toBe("1");
  }
  expect(new Headers(sent[0]?.headers).get("content-type")).toBe("text/plain;charset=UTF-8");
});

test("elsewhere, and without a body, nothing is changed", async () => {
  expect(fetchOnce(fetch as never, false)).toBe(fetch);
  await fetchOnce(fetch as never, true)("http://x", { method: "GET" });
  expect(sent.at(-1)).toEqual({ method: "GET" });
});
