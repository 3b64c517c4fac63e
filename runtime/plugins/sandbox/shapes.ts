import { author } from "@signalbox/schema/policy";
import type { Json } from "@signalbox/sdk";
import { z } from "zod";

/** The accepted members of a plugin's responses; all others are dropped. Text is truncated when it is stored. */
const text = z.string().max(1_000_000);
const short = z.string().max(10_000);
/** The value was parsed from a line, so it is JSON. Checking each value again would take as long as all other checks. */
export const json = z.custom<Json>((value) => value !== undefined, "is missing");
/** Stops at the first item that is not valid: describing what is wrong with each of 10,000 would block the event loop. */
const list = <S extends z.ZodType>(item: S) =>
  z
    .array(z.unknown())
    .max(10_000)
    .transform((items, context) => {
      const read: z.output<S>[] = [];
      for (const [at, one] of items.entries()) {
        const parsed = item.safeParse(one);
        if (parsed.success) read.push(parsed.data);
        else {
          const [issue] = parsed.error.issues;
          context.addIssue({ code: "custom", path: [at, ...(issue?.path ?? [])], message: issue?.message });
          return z.NEVER;
        }
      }
      return read;
    });

export const verdict = z.union([z.object({ ok: z.literal(true) }), z.object({ ok: z.literal(false), reason: short })]);
export const sourceEvent = z.object({
  delivery_id: short.nullable(),
  event_name: short,
  action: short.nullable(),
  subject: z.object({ project: short, issue: short }).nullable(),
  title: short.nullish(),
  actor: short.nullable(),
  text: z.string().max(4_000_000),
  marked: z.boolean(),
  occurred_at: short.nullable(),
  missing_field: short.nullable(),
  ignored: short.nullish(),
  change_key: short.nullish(),
  author: author.extend({ id: short.nullable(), name: short.nullable() }).nullish(),
  hook_id: short.nullish(),
  snapshot: z.boolean().optional(),
  private: z.boolean().optional(),
  changes: z.array(z.string().max(10_000)).max(1_000).optional(),
  comment: short.nullish(),
  comment_text: text.nullish(),
  closes: z.boolean().optional(),
  thread: short.nullish(),
  incomplete: z.boolean().optional(),
});
export const account = z.string().max(500).nullable();
/** A check without a report returns nothing. */
export const accountReport = z
  .object({
    may_write: z.boolean().nullish(),
    rate_limit: z
      .object({ remaining: z.int().min(0), limit: z.int().min(0).nullable(), resets_at: z.iso.datetime().nullable() })
      .nullish(),
  })
  .nullish()
  .transform((report) => report ?? undefined);
export const postedComment = z.object({ id: short, url: short });
const webhookPayload = z.object({ headers: z.record(z.string(), short), payload: json });
export const pollResult = z.object({ events: list(webhookPayload), cursor: z.string().max(100_000) });
export const createdIssue = z.object({ key: short, url: short, event: webhookPayload.nullable() });
export const subjectDetails = z.object({
  subject: z.object({ project: short, issue: short }).optional(),
  title: short.nullable(),
  state: short.nullable(),
  labels: z.array(short).max(1_000),
  author: short.nullable(),
  url: short.nullable(),
  names: z.record(short, short).optional(),
});
export const standing = author.shape.standing;
const names = z.array(short).max(1_000);
export const webhookReport = z.object({
  id: short.nullable(),
  active: z.boolean(),
  configured: names,
  missing: names,
  unknown: names,
  notes: names,
  changed: z.enum(["created", "updated"]).nullable(),
});
export const projectId = z.string().max(1_000);
export const noResult = z.unknown().transform(() => undefined);

export const pageList = z.object({
  pages: list(z.object({ id: short, revision: short })),
  cursor: z.string().max(100_000).nullable(),
});
export const pages = z
  .array(
    z.object({
      id: short,
      revision: short,
      title: short,
      url: short.nullable(),
      space: short.nullable(),
      body: z.string().max(4_000_000),
      author: short.nullable().default(null),
      edited_at: short.nullable().default(null),
    }),
  )
  .max(100);

const memory = z.object({
  id: short,
  key: short,
  content: text,
  scope: z.enum(["task", "agent", "project", "organizational"]),
  agent_id: short.nullable(),
  project_id: z.number().nullable(),
  task_id: short.nullable(),
  created_at: short,
  updated_at: short,
});
const fraction = z.number().min(0).max(1).nullable();
const hits = list(memory.extend({ similarity: fraction, rank: fraction }));
export const memoryAnswers = {
  put: z.boolean(),
  get: memory.nullable(),
  delete: z.boolean(),
  list: z.object({ items: list(memory), total: z.int().min(0) }),
  nearest: hits,
  match: hits,
  unembedded: list(z.object({ id: short, content: text })),
  embed: noResult,
  clearVectors: noResult,
  sweep: z.int().min(0),
  check: noResult,
} as const;

export const routeAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string().max(200), short).optional(),
  body: json,
});

const cloudEvent = z.object({
  specversion: z.literal("1.0"),
  id: short,
  source: short,
  type: short,
  subject: short.optional(),
  time: short,
  datacontenttype: z.literal("application/json"),
  data: json,
});
export const queueAnswers = {
  publish: noResult,
  pending: z.object({ items: list(cloudEvent), total: z.int().min(0) }),
  take: list(cloudEvent),
  ack: z.boolean(),
  expire: noResult,
} as const;

export const feedAnswers = {
  receive: z
    .array(
      z.object({
        receipt: z.string().max(1_000),
        id: z.string().max(500).nullable(),
        webhook: z.string().max(500),
        headers: z.record(z.string().max(200), z.string().max(20_000)),
        body: z.string(),
      }),
    )
    .max(1_000),
  acknowledge: noResult,
} as const;

export const useCaseAnswers = {
  setup: z.object({
    status: short,
    project: z.object({ project_id: short, name: short, id: z.int() }),
    agents_verified: z.array(short).max(1_000),
    tracker_issue: z.object({ key: short, url: short }).nullable(),
    next_steps: z.array(short).max(1_000),
  }),
  teardown: z.object({ status: short, project_deleted: z.boolean(), issue_closed: z.boolean() }),
} as const;
