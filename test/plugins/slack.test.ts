import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { approver, button, channel, signedRequest, signingSecret } from "../../plugins/slack/test/conformance.ts";
import { SlackServer, token } from "../../plugins/slack/test/server.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";
import { buildPlugin, events, limit, sendUnderFaults, unlimited } from "./connector-faults.ts";

const repo = "octo/app";

let folder: string;
let slack: SlackServer;
let world: World;
beforeAll(async () => {
  folder = await buildPlugin("slack");
  slack = await new SlackServer().listen();
  const settings = {
    PLUGIN_SLACK__URL: slack.url,
    PLUGIN_SLACK__CHANNEL: channel,
    PLUGIN_SLACK__APPROVERS: approver,
    PLUGIN_SLACK__TOKEN: token,
    PLUGIN_SLACK__SIGNING_SECRET: signingSecret,
  };
  world = await startWorld({ tasks: ["summarize"], env: { SIGNALBOX_PLUGINS: folder, ...settings, ...unlimited } });
}, 120_000);
afterAll(async () => {
  await slack?.close();
  await world?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const press = (body: string, { headers } = signedRequest(body)) =>
  fetch(`${world.service.url}/plugins/slack/actions`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
    body,
  });
const stage = async (staged: boolean) =>
  expect((await world.service.put("/api/agents/pm_default", { policy: { staged } })).status).toBe(200);
/** Ids of all messages in the channel, including repetitions. */
const told = () =>
  slack.messages.flatMap(({ metadata }) => (metadata as { event_payload: { ids: string } }).event_payload.ids.split(","));
interface Button {
  readonly action_id: string;
  readonly value: string;
}

test("a waiting run is posted with buttons; an approver approves it, and it is written", { timeout: 120_000 }, async () => {
  await stage(true);
  await world.service.webhook(issueOpened({ repo, number: 1 }));
  const message = await eventually(() => slack.messages.find(({ text }) => text.includes("waits for approval")), {
    timeout: 30_000,
  });
  const elements = message?.blocks.flatMap((block) => (block.elements ?? []) as Button[]) ?? [];
  const value = JSON.parse(elements.find(({ action_id }) => action_id === "signalbox_approve")?.value ?? "null");
  expect(textsOf(world.tracker, repo, 1)).toEqual([]);
  // A sender that cannot sign, or is not listed, cannot decide.
  const body = button("approve", value, { ts: String(message?.ts) });
  expect(
    (await press(body, { ...signedRequest(body), headers: { ...signedRequest(body).headers, "x-slack-signature": "v0=00" } }))
      .status,
  ).toBe(401);
  expect((await press(button("approve", value, { user: "U0000000" }))).status).toBe(200);
  expect(slack.ephemeral).toMatchObject([{ user: "U0000000", text: expect.stringContaining("not allowed to decide") }]);
  expect((await press(body)).status).toBe(200);
  await eventually(() => textsOf(world.tracker, repo, 1).length === 1, { timeout: 30_000 });
  expect(message?.text).toBe(`Approved by <@${approver}>`);
  // The tracker has the comment before its outcome is stored.
  await eventually(async () => {
    const { body: execution } = await world.service.get<{ proposals: unknown[] }>(`/api/task-executions/${value.execution}`);
    expect(execution.proposals).toMatchObject([{ state: "applied", decided_by: `slack:${approver}` }]);
    return true;
  });
  // Clicked again in a window that still shows it: the message says why it has no effect.
  await press(body);
  expect(slack.ephemeral).toHaveLength(2);
});

test(`${events} executions with faults of Slack and kills of the service: each is posted once`, { timeout: limit }, async () => {
  await stage(false);
  const before = new Set(told());
  const all = Array.from({ length: events }, (_, at) => at + 2);
  await sendUnderFaults(
    { service: world.service, platform: slack },
    all,
    async (number, delivery) => (await world.service.webhook(issueOpened({ repo, number }), { delivery })).status < 300,
  );
  const fresh = () => told().filter((id) => !before.has(id));
  // The first execution ended after its approval, which is posted too.
  await eventually(() => new Set(fresh().filter((id) => id.endsWith("succeeded"))).size >= events, { timeout: limit - 10_000 });
  await eventually(async () => all.every((issue) => textsOf(world.tracker, repo, issue).length === 1), { timeout: 30_000 });
  expect(fresh().filter((id, at, ids) => ids.indexOf(id) !== at)).toEqual([]);
});
