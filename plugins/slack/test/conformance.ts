import { createHmac } from "node:crypto";
import type { CloudEvent } from "@signalbox/sdk";
import type { Conformance } from "@signalbox/sdk/testing";
import { SlackServer, token } from "./server.ts";

export const signingSecret = "slack-test-signing-secret";
export const channel = "C024BE91L";
export const approver = "U024BE7LH";
const execution = "01a207ad-b073-7000-96ca-9a70840084ea";

/** A request as Slack signs it, at this moment. */
export const signedRequest = (body: string, at = Date.now()) => {
  const timestamp = String(Math.floor(at / 1000));
  const digest = createHmac("sha256", signingSecret).update(`v0:${timestamp}:${body}`).digest("hex");
  return { body, headers: { "x-slack-request-timestamp": timestamp, "x-slack-signature": `v0=${digest}` } };
};
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();

/** A button that was pressed: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
export const button = (action: string, value: object, { user = approver, ts = "1769850000.000100" } = {}) =>
  form({
    payload: JSON.stringify({
      type: "block_actions",
      team: { id: "T9TK3CUKW", domain: "example" },
      api_app_id: "AABA1ABCD",
      user: { id: user, username: "ann", team_id: "T9TK3CUKW" },
      container: { type: "message", message_ts: ts, channel_id: channel },
      channel: { id: channel, name: "agents" },
      message: { type: "message", ts, blocks: [{ type: "section" }, { type: "actions" }] },
      actions: [
        { type: "button", action_id: `signalbox_${action}`, block_id: "signalbox_actions", value: JSON.stringify(value) },
      ],
    }),
  });
export const command = (text: string, user = approver) =>
  form({ command: "/signalbox", text, user_id: user, channel_id: channel });

export const event = (kind: string, number: number, more: object = {}): CloudEvent => ({
  specversion: "1.0",
  id: `${execution}.${number}.${kind}`,
  source: "/api/task-executions",
  type: `dev.signalbox.execution.${kind}`,
  subject: `alpha:octo/app#${number}`,
  time: new Date().toISOString(),
  datacontenttype: "application/json",
  data: { execution_id: execution, task_id: "triage", state: kind, ...more },
});

const start = async () => {
  const server = await new SlackServer().listen();
  return { server, config: { url: server.url, channel, approvers: approver }, close: () => server.close() };
};

export const conformance: Conformance = {
  secrets: { token, signing_secret: signingSecret },
  config: { channel, approvers: approver },
  queues: {
    slack: {
      start,
      forwarded: {
        messages: [
          event("failed", 1, { error: "the model answered 500" }),
          event("held", 2),
          event("succeeded", 3),
          event("succeeded", 4),
          event("cancelled", 5),
          { ...event("received", 6), type: "dev.signalbox.event.received" },
        ],
        read: (started) => (started as Awaited<ReturnType<typeof start>>).server.messages.map((one) => JSON.stringify(one)),
      },
    },
  },
  routes: {
    actions: {
      requests: [
        { raw: () => signedRequest(command("stop")) },
        { raw: () => signedRequest(command("stop it")) },
        { raw: () => signedRequest(button("unknown", {})) },
        {
          raw: () => signedRequest(JSON.stringify({ type: "view_closed" })),
          body: { type: "url_verification", challenge: "3eZbrw1a" },
        },
      ],
      refused: [
        { raw: command("stop") },
        { raw: () => ({ ...signedRequest(command("stop")), body: command("approve") }) },
        { raw: () => signedRequest(command("stop"), Date.now() - 301_000) },
        { raw: () => signedRequest("neither=one") },
        { raw: () => signedRequest(form({ payload: "{" })) },
      ],
    },
  },
};
