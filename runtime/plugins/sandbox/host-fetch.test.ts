import { expect, test } from "vitest";
import { createHostFetch, type Ways } from "./host-fetch.ts";
import { createStandIns } from "./stand-ins.ts";

const reached = async () => new Response("{}");
const ways = (methods: Ways["permissions"][0]["methods"]): Ways => ({
  permissions: [{ host: "api.example.com", methods, why: "Reads." }],
  ...{ guarded: reached, direct: reached, userHosts: () => [] },
  // As a setting with this address would have it.
  operatorHosts: () => ["api.example.com"],
});
const ask = (url: string, method: string, allowed: Ways["permissions"][0]["methods"]) =>
  createHostFetch(
    "worker",
    ways(allowed),
    createStandIns({}, () => ({})),
  )({ url, method, headers: [], body: null, redirect: "follow" }, new AbortController().signal);

test("what an operator took away is not given back by a setting that names the host", async () => {
  expect((await ask("https://api.example.com/a", "GET", ["GET"])).status).toBe(200);
  await expect(ask("https://api.example.com/a", "POST", ["GET"])).rejects.toThrow("may not POST at api.example.com");
  for (const scheme of ["https", "http"])
    await expect(ask(`${scheme}://api.example.com/a`, "GET", [])).rejects.toThrow("the operator does not allow it");
});
