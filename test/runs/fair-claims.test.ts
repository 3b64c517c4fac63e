import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { by, limitedWorld, usage } from "../harness/limited-world.ts";
import { eventually } from "../harness/wait.ts";
import { issueOf } from "../harness/world.ts";

const limited = limitedWorld();
const { project, send, only } = limited;

test("while others wait, one project has half of the slots, so another does not wait for its 40 runs", {
  timeout: 180_000,
}, async () => {
  const { service, model } = limited.world;
  const [crowd, few] = [await project({}), await project({})];
  expect((await service.post("/api/pause", { scope: "all", reason: "to line up" })).status).toBe(200);
  const before = model.chats().length;
  model.answerWith({ when: `(?:${crowd}|${few})#`, reply: { content: "Done.", usage, delayMs: 200 }, times: 0 });
  const events: string[] = [];
  for (let number = 1; number <= 40; number++)
    events.push((await send(issueOpened({ repo: crowd, number }, by(1, "OWNER")))).event_id);
  for (const number of [1, 2, 3]) events.push((await send(issueOpened({ repo: few, number }, by(2, "OWNER")))).event_id);
  // All of them are queued before the first one may finish.
  for (const event_id of events) await only(event_id, "queued");
  expect((await service.post("/api/resume", { scope: "all" })).status).toBe(200);
  for (const event_id of events) await only(event_id, "succeeded");
  const order = model.chats().slice(before).map(issueOf);
  expect(order).toHaveLength(43);
  expect(order.slice(0, 16).filter((issue) => issue.startsWith(`${few}#`))).toHaveLength(3);
});

test("a project that arrives while another one has all slots gets its share of the next ones", { timeout: 180_000 }, async () => {
  const { model } = limited.world;
  const [crowd, few] = [await project({}), await project({})];
  const about = (repo: string) => model.chats().filter((request) => issueOf(request).startsWith(`${repo}#`)).length;
  model.answerWith({ when: `(?:${crowd}|${few})#`, reply: { content: "Done.", usage, delayMs: 500 }, times: 0 });
  const events: string[] = [];
  for (let number = 1; number <= 64; number++)
    events.push((await send(issueOpened({ repo: crowd, number }, by(1, "OWNER")))).event_id);
  await eventually(() => about(crowd) >= 9);
  for (const number of [1, 2, 3]) events.push((await send(issueOpened({ repo: few, number }, by(2, "OWNER")))).event_id);
  const before = about(crowd);
  await eventually(() => about(few) === 3);
  // Until the last of the few began: the running ones, and one full exchange of the slots.
  const order = model.chats().map(issueOf);
  const last = order.findLastIndex((issue) => issue.startsWith(`${few}#`));
  const ofCrowd = order.slice(0, last).filter((issue) => issue.startsWith(`${crowd}#`)).length;
  expect(ofCrowd - before).toBeLessThanOrEqual(32);
  for (const event_id of events) await only(event_id, "succeeded");
});
