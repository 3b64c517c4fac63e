import { expect, test } from "vitest";
import { createHostFetch, type EgressRules } from "./host-fetch.ts";
import { limits } from "./limits.ts";
import { createPlaceholders } from "./placeholders.ts";

const reached = async () => new Response("{}");
const ways = (methods: EgressRules["permissions"][0]["methods"]): EgressRules => ({
  permissions: [{ host: "api.example.com", methods, why: "Reads." }],
  guarded: reached,
  direct: reached,
  userHosts: () => [],
  // As a setting with this address would have it.
  operatorHosts: () => ["api.example.com"],
});
const ask = (url: string, method: string, allowed: EgressRules["permissions"][0]["methods"]) =>
  createHostFetch(
    "worker",
    ways(allowed),
    createPlaceholders({}, () => ({})),
  )({ url, method, headers: [], body: null, redirect: "follow" }, new AbortController().signal);

test("a setting that names a host does not restore a denied permission", async () => {
  expect((await ask("https://api.example.com/a", "GET", ["GET"])).status).toBe(200);
  await expect(ask("https://api.example.com/a", "POST", ["GET"])).rejects.toThrow("may not POST at api.example.com");
  for (const scheme of ["https", "http"])
    await expect(ask(`${scheme}://api.example.com/a`, "GET", [])).rejects.toThrow("the operator does not allow it");
});

test("responses that are read at the same time share a limit, which is released afterwards", async () => {
  const answer = Buffer.alloc(limits.answerBytes);
  const reads = {
    ...ways(["GET"]),
    guarded: async () => new Response(answer),
  };
  const fetch = createHostFetch("worker", reads, createPlaceholders({}));
  const get = () =>
    fetch(
      { url: "https://api.example.com/a", method: "GET", headers: [], body: null, redirect: "follow" },
      new AbortController().signal,
    );
  const all = await Promise.allSettled(Array.from({ length: 6 }, get));
  const refused = all.flatMap((one) => (one.status === "rejected" ? [String(one.reason.message)] : []));
  expect(refused.length).toBeGreaterThan(0);
  for (const message of refused) expect(message).toContain("send fewer requests at the same time");
  expect((await get()).status).toBe(200);
});

test.each(["TRACE", "CONNECT", "PROPFIND", "trace"])("%s is refused at every host, the operator's own too", async (method) => {
  const rules = { ...ways(["GET"]), permissions: [] };
  const request = { url: "https://api.example.com/a", method, headers: [], body: null, redirect: "follow" };
  const own = createHostFetch("worker", rules, createPlaceholders({}));
  await expect(own(request, new AbortController().signal)).rejects.toThrow(`may not ${method} at api.example.com`);
  const users = { ...rules, operatorHosts: () => [], userHosts: () => ["api.example.com"] };
  const given = createHostFetch("worker", users, createPlaceholders({}));
  await expect(given(request, new AbortController().signal)).rejects.toThrow(`may not ${method} at api.example.com`);
});

test.each(["host", "content-length", "x-forwarded-for"])("a stored manifest that injects %s injects nothing", (name) => {
  const secrets = { token: { title: "T", inject: { as: "header" as const, name, format: "{}", hosts: ["api.example.com"] } } };
  const headers = new Headers();
  createPlaceholders(secrets, () => ({ token: "secret" })).inject("api.example.com", headers);
  expect([...headers]).toEqual([]);
});
