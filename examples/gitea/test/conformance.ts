import { createHmac } from "node:crypto";
import type { Conformance } from "@signalbox/sdk/testing";
import { GiteaServer } from "./server.ts";
import commented from "./webhooks/issue-commented.json" with { type: "json" };
import opened from "./webhooks/issue-opened.json" with { type: "json" };

const connection = (url: string) => ({ url, token: "gitea-test-token" });
const tracker = () => new GiteaServer().listen();
const about = { subject: { project: "octo/app", issue: "7" }, missing_field: null, marked: false };

export const conformance: Conformance = {
  sources: {
    gitea: {
      ...{ connection, tracker, subject: about.subject },
      signature: {
        settings: { webhook_secret: "gitea-test-secret" },
        sign: (body) => ({ "x-gitea-signature": createHmac("sha256", "gitea-test-secret").update(body).digest("hex") }),
        covers_body: true,
      },
      golden: [
        {
          ...{ name: "an opened issue", ...opened },
          expect: {
            ...{ ...about, event_name: "issues", action: "opened", actor: "ann" },
            delivery_id: "f6266f16-1bf3-46a5-9ea4-602e06ead473",
            text: "# Login fails\n\nIt says 500 since this morning.",
            occurred_at: "2026-01-31T09:30:00.000Z",
          },
        },
        {
          ...{ name: "a comment", ...commented },
          expect: {
            ...{ ...about, event_name: "issue_comment", action: "created", actor: "bob" },
            text: "# Login fails\n\nIt says 500 since this morning.\n\n## Comment by bob\n\nSame here, on **Firefox**.",
            occurred_at: "2026-01-31T09:00:00.000Z",
          },
        },
      ],
      delivery_header: "x-gitea-delivery",
      comment_event: (body) => ({
        headers: { "x-gitea-event": "issue_comment" },
        payload: { ...commented.payload, comment: { ...commented.payload.comment, body } },
      }),
    },
  },
  tools: {
    ...{ connection, tracker },
    tools: {
      add_comment: {
        inputs: [
          { issue: 7, project: "octo/app", body: "Looking into it." },
          { issue: "octo/app#7", body: "Found it." },
        ],
        refused: [
          { issue: 7, body: "Where?" },
          { issue: "seven", project: "octo/app", body: "x" },
          { issue: 7, project: "octo", body: "x" },
        ],
      },
      get_issue: {
        inputs: [{ issue: "#7", project: "octo/app" }],
        refused: [{ project: "octo/app" }, { issue: 0, project: "octo/app" }],
      },
    },
  },
};
