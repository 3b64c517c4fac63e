import { createHmac } from "node:crypto";
import type { Conformance } from "@signalbox/sdk/testing";
import { TestTracker } from "./tracker.ts";
import commented from "./webhooks/commented.json" with { type: "json" };

/** What `signalbox plugin test` plays with the built plugin. */
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
      // A delivery as the platform repeats it: with the same id, or the event would run twice.
      repetitions: [{ first: commented, again: commented }],
      // One webhook of each envelope that the platform has: each must name its actor.
      envelopes: [commented],
      // Each other place where a comment can be: a review, a diff, a commit.
      comment_places: [(body) => ({ headers: {}, payload: { ...commented.payload, event: "review", comment: { body } } })],
      subject: { project: "octo/app", issue: "7" },
      tracker: () => new TestTracker().listen(),
    },
  },
};
