import type { SourceFixtures, ToolFixtures } from "@signalbox/sdk/testing";
import { startTracker } from "./test-tracker.ts";
import { golden, issue, noteEvent, project, user } from "./webhook-fixtures.ts";

const token = "test-token-91ab";
const secret = "webhook-secret-5f0c";
const connection = (url: string) => ({ token, url });

async function tracker() {
  const started = await startTracker();
  started.add("issues", 12, "2026-01-02T03:04:05.678Z");
  started.add("merge_requests", 12, "2026-01-02T03:04:05.678Z");
  return started;
}

export const sourceFixtures: SourceFixtures = {
  connection,
  signature: { settings: { webhook_secret: secret }, sign: () => ({ "x-beta-token": secret }), covers_body: false },
  golden,
  repetitions: [
    {
      first: {
        headers: { "x-gitlab-event": "Issue Hook", "idempotency-key": "k-1", "x-gitlab-event-uuid": "u-1" },
        payload: issue,
      },
      again: {
        headers: { "x-gitlab-event": "Issue Hook", "idempotency-key": "k-1", "x-gitlab-event-uuid": "u-2" },
        payload: issue,
      },
    },
  ],
  envelopes: [
    { headers: { "x-gitlab-event": "Issue Hook" }, payload: issue },
    { headers: { "x-gitlab-event": "Push Hook" }, payload: { object_kind: "push", user_id: 5, user_username: "ann", project } },
  ],
  comment_places: [
    (body) => noteEvent(body, { merge_request: { iid: 7 } }, { type: "DiffNote", position: { new_path: "a.c", new_line: 3 } }),
    (body) => noteEvent(body, { commit: { id: "cfe32cf61b73a0d5e9f13e774abde7ff789b1660" } }, { noteable_type: "Commit" }),
    (body) => noteEvent(body, { snippet: { id: 53, title: "test" } }, { noteable_type: "Snippet" }),
  ],
  private_event: noteEvent("For members.", { issue: { iid: 12 } }, { internal: true }),
  delivery_header: "x-beta-event-uuid",
  comment_event: (body) => ({
    headers: { "x-beta-event": "Note Hook" },
    payload: { object_kind: "note", user, project, object_attributes: { id: 5, note: body }, issue: { iid: 12 } },
  }),
  own_event: {
    headers: { "x-beta-event": "Note Hook" },
    payload: {
      object_kind: "note",
      user: { username: "signalbox-bot" },
      project,
      object_attributes: { id: 5, note: "x" },
      issue: { iid: 12 },
    },
  },
  subject: { project: "octo/team/app", issue: "12" },
  tracker,
};

const at = { issue: 12, project: "octo/team/app" };
const refusedInputs = [{ issue: "12" }, { ...at, issue: "twelve" }, { ...at, project: "../user" }, { ...at, project: "octo" }];
export const toolFixtures: ToolFixtures = {
  connection,
  secrets: [token],
  tracker,
  tools: {
    add_comment: {
      inputs: [
        { ...at, body: "Hello." },
        { ...at, issue: "!12", body: "x" },
        { issue: "octo/team/app#12", body: "x" },
        { issue: "octo/team/app!12", body: "x" },
        { issue: "#12", project: "77", body: "x" },
      ],
      refused: [{}, { ...at }, { ...at, body: "" }, ...refusedInputs.map((one) => ({ ...one, body: "x" }))],
    },
    update_description: {
      inputs: [
        { ...at, description: "New text." },
        { ...at, issue: "!12", description: "" },
      ],
      refused: [{ ...at }, { ...at, issue: 0, description: "x" }, ...refusedInputs.map((one) => ({ ...one, description: "x" }))],
    },
    get_issue: { inputs: [at, { ...at, issue: "!12" }], refused: refusedInputs },
  },
};
