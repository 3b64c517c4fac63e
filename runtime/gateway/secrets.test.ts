import { setImmediate as nextTick } from "node:timers/promises";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { expect, test } from "vitest";
import { createSecrets } from "./secrets.ts";

/** Checks of secrets, each of which ends when the test calls its function in `ends`. */
function begin() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const matches = (secret: string) =>
    new Promise<boolean>((done) => {
      begun.push(secret);
      ends.push(() => done(secret === "right"));
    });
  const counter = (keyPrefix: string, points: number, duration: number) => new RateLimiterMemory({ keyPrefix, points, duration });
  const secrets = createSecrets(counter, 0, matches);
  const send = (agentId: string, address: string, secret: string) => secrets.isRight({ agentId, address, secret, hash: "hash" });
  return { begun, ends, send };
}

async function endOne({ ends }: ReturnType<typeof begin>): Promise<void> {
  ends.shift()?.();
  await nextTick();
}

test("secrets that a stranger sends for many agents delay no other network, and at most two are checked at a time", async () => {
  const checks = begin();
  const guesses = Array.from({ length: 100 }, (_, i) => checks.send(`invented_${i}`, "2001:db8::1", `guess ${i}`));
  const right = checks.send("real", "192.0.2.8", "right");
  await nextTick();
  expect(checks.begun).toEqual(["guess 0", "guess 1"]);
  await endOne(checks);
  await endOne(checks);
  expect(checks.begun).toEqual(["guess 0", "guess 1", "guess 2", "right"]);
  for (let i = 0; i < 99; i++) await endOne(checks);
  expect(await right).toBe(true);
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]));
});

test("beyond 200 that wait from one network, further ones are refused; the other networks are served", async () => {
  const checks = begin();
  // Each is another address of the same network.
  const guesses = Array.from({ length: 200 }, (_, i) => checks.send(`invented_${i}`, `2001:db8::${i}`, "guess"));
  await expect(checks.send("another", "2001:db8::ffff", "guess")).rejects.toMatchObject({ code: "rate_limited", retryAfter: 1 });
  const right = checks.send("real", "2001:db8:0:1::1", "right");
  for (let i = 0; i < 201; i++) {
    await nextTick();
    await endOne(checks);
  }
  expect(await right).toBe(true);
  await Promise.all(guesses);
  const later = checks.send("real", "2001:db8::1", "right");
  await nextTick();
  await endOne(checks);
  expect(await later).toBe(true);
});
