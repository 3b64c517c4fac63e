import { expect, test } from "vitest";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

interface Entry {
  readonly message: string;
  readonly context: { readonly reason: string; readonly address?: string; readonly key?: string | null; readonly count?: number };
}

test("refused requests are reported with their addresses, without a key too, and a scanner does not hide others", {
  timeout: 120_000,
}, async () => {
  const apiKey = "an-operators-key-for-tests";
  const env = { API_KEYS: apiKey, WATCHDOG_ENABLED: "true", TRUSTED_PROXIES: "127.0.0.0/8" };
  await using service = await startService({ apiKey, env });
  const ask = async (address: string, headers: Record<string, string> = {}) =>
    (await fetch(`${service.url}/api/tasks`, { headers: { "x-forwarded-for": address, ...headers } })).status;
  const invented = (i: number) => ({ authorization: `Bearer sbx_${String(i).padStart(4, "0")}${"x".repeat(40)}` });
  // A scanner invents 300 keys, and another has many addresses.
  for (let i = 0; i < 300; i++) expect(await ask("192.0.2.9", invented(i))).toBe(401);
  for (let i = 0; i < 300; i++) expect(await ask(`2001:db8::${i.toString(16)}`)).toBe(401);
  expect(await ask("198.51.100.1")).toBe(401);
  expect(await ask("198.51.100.2", { authorization: "Bearer a-key-that-was-revoked" })).toBe(401);
  expect(await ask("198.51.100.3", { cookie: "signalbox_session=ended" })).toBe(401);
  // The console's first question is no attempt.
  const headers = { "x-forwarded-for": "198.51.100.4" };
  expect((await fetch(`${service.url}/console/session`, { headers })).status).toBe(200);
  await eventually(async () => {
    const { body } = await service.get<Entry[]>("/api/watchdog?limit=1000&search=a request was refused");
    expect(body.length).toBeLessThan(30);
    const of = (address: string) => body.filter(({ context }) => context.address === address).map(({ context }) => context);
    expect(of("198.51.100.1")).toMatchObject([{ reason: "The request has no API key." }]);
    expect(of("198.51.100.2")).toMatchObject([{ reason: expect.stringMatching(/^The API key is not valid/) }]);
    expect(of("198.51.100.3")).toMatchObject([{ reason: expect.stringMatching(/^The session has ended/) }]);
    expect(of("198.51.100.4")).toEqual([]);
    expect(of("192.0.2.9").reduce((sum, { count = 1 }) => sum + count, 0)).toBe(300);
    return true;
  });
  expect(service.logs()).toContain("198.51.100.1");
});
