import { expect, test } from "vitest";
import { testSource } from "./index.ts";
import { failures } from "./sample/failures.ts";
import { sampleFixtures, samplePlugin } from "./sample/plugin.ts";

const wrong: [string, Parameters<typeof samplePlugin>[0], string][] = [
  [
    "polls the same under new ids",
    (s) => ({
      poll: async (f, c) => {
        const { events, cursor } = (await s.poll?.(f, c)) ?? { events: [], cursor: "" };
        return { cursor, events: events.map((e) => ({ ...e, headers: { "x-id": crypto.randomUUID() } })) };
      },
    }),
    "the same ones",
  ],
  [
    "polls without ids",
    (s) => ({ parse: async (r) => ({ ...(await s.parse(r)), delivery_id: null }) }),
    "poll returns existing events",
  ],
  [
    "polls nothing after its first poll",
    (s) => ({ poll: async (f, c) => (f.cursor ? { events: [], cursor: f.cursor } : ((await s.poll?.(f, c)) as never)) }),
    "continues from its cursor",
  ],
  [
    "throws whatever a strange cursor makes",
    (s) => ({
      poll: async (f, c) => {
        if (f.cursor !== null) JSON.parse(f.cursor);
        return (await s.poll?.(f, c)) as never;
      },
    }),
    "invalid cursor",
  ],
  [
    "polls any project",
    (s) => ({ poll: async (f, c) => (await s.poll?.({ ...f, project: "p" }, c)) as never }),
    "path characters",
  ],
  [
    "polls on after the deadline",
    (s) => ({ poll: async (f, c) => (await s.poll?.(f, { ...c, signal: AbortSignal.timeout(4000) })) as never }),
    "poll reports no response",
  ],
  [
    "takes half an answer for no news",
    (s) => ({ poll: async (f, c) => s.poll?.(f, c).catch(() => ({ events: [], cursor: "0" })) as never }),
    "poll reports a truncated response",
  ],
];

test.for(wrong)("a source that %s fails", { timeout: 30_000 }, async ([, change, at]) => {
  expect(await failures(testSource(samplePlugin(change), sampleFixtures), at)).not.toEqual([]);
});
