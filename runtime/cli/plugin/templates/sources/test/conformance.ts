import { createHmac } from "node:crypto";
import type { Conformance } from "@signalbox/sdk/testing";
import { TestTracker } from "./tracker.ts";
import commented from "./webhooks/commented.json" with { type: "json" };

/** Input for the suites of `signalbox plugin test`. */
export const conformance: Conformance = {
  sources: {
    "my-plugin": {
      connection: (url) => ({ url, token: "test-token" }),
      signature: {
        settings: { webhook_secret: "test-secret" },
        sign: (body) => ({ "x-signature": createHmac("sha256", "test-secret").update(body).digest("hex") }),
        covers_body: true,
      },
      golden: [
        {
          name: "a comment",
          ...commented,
          expect: {
            delivery_id: "d-1",
            event_name: "comment",
            action: "created",
            subject: { project: "octo/app", issue: "7" },
            actor: "ann",
            text: "Login fails\n\nSince this morning.",
            occurred_at: "2026-01-31T09:30:00.000Z",
            missing_field: null,
          },
        },
      ],
      delivery_header: "x-delivery",
      comment_event: (body) => ({ headers: {}, payload: { ...commented.payload, comment: { body } } }),
      // A repeated delivery must get the same delivery id, or its event would start a second run.
      repetitions: [{ first: commented, again: commented }],
      // One webhook for each payload format of the platform. Each must name its actor.
      envelopes: [commented],
      // All other places where people can comment: a review, a diff, a commit.
      comment_places: [(body) => ({ headers: {}, payload: { ...commented.payload, event: "review", comment: { body } } })],
      subject: { project: "octo/app", issue: "7" },
      tracker: () => new TestTracker().listen(),
    },
  },
};
