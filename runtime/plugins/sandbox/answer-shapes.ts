import { author } from "@signalbox/schema/policy";
import type { Json } from "@signalbox/sdk";
import { z } from "zod";
import { readablePolled } from "./polled-events.ts";

/** The accepted members of a plugin's responses; all others are dropped. Text is truncated when it is stored. */
const text = z.string().max(1_000_000);
const shortText = z.string().max(10_000);
/** The value was parsed from a line, so it is JSON. Checking each value again would take as long as all other checks. */
export const json = z.custom<Json>((value) => value !== undefined, "is required");
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

export const verdict = z.union([z.object({ ok: z.literal(true) }), z.object({ ok: z.literal(false), reason: shortText })]);
export const sourceEvent = z.object({
  delivery_id: shortText.nullable(),
  event_name: shortText,
  action: shortText.nullable(),
  subject: z.object({ project: shortText, issue: shortText }).nullable(),
  title: shortText.nullish(),
  actor: shortText.nullable(),
  text: z.union([z.string().max(4_000_000), z.array(z.string().max(1_000_000)).max(1_000)]),
  marked: z.boolean(),
  occurred_at: shortText.nullable(),
  missing_field: shortText.nullable(),
  ignored: shortText.nullish(),
  change_key: shortText.nullish(),
  author: author.extend({ id: shortText.nullable(), name: shortText.nullable() }).nullish(),
  hook_id: shortText.nullish(),
  snapshot: z.boolean().optional(),
  private: z.boolean().optional(),
  changes: z.array(z.string().max(10_000)).max(1_000).optional(),
  comment: shortText.nullish(),
  comment_text: text.nullish(),
  closes: z.boolean().optional(),
  thread: shortText.nullish(),
  incomplete: z.boolean().optional(),
});
const account = z.string().max(500).nullable();
/** A check without a report returns nothing. */
const accountReport = z
  .object({
    may_write: z.boolean().nullish(),
    rate_limit: z
      .object({ remaining: z.int().min(0), limit: z.int().min(0).nullable(), resets_at: z.iso.datetime().nullable() })
      .nullish(),
  })
  .nullish()
  .transform((report) => report ?? undefined);
const postedComment = z.object({ id: shortText, url: shortText });
const webhookPayload = z.object({ headers: z.record(z.string(), shortText), payload: json });
export const pollResult = z
  .object({
    events: z.array(z.unknown()).max(10_000),
    cursor: z.string().max(100_000),
    unreadable: z
      .array(z.unknown())
      .max(10_000)
      .nullish()
      .transform((items) => items ?? []),
  })
  .transform(({ events, cursor, unreadable }) => ({ cursor, ...readablePolled(events, unreadable) }));
const createdIssue = z.object({ key: shortText, url: shortText, event: webhookPayload.nullable() });
const subjectDetails = z.object({
  subject: z.object({ project: shortText, issue: shortText }).optional(),
  title: shortText.nullable(),
  state: shortText.nullable(),
  labels: z.array(shortText).max(1_000),
  author: shortText.nullable(),
  url: shortText.nullable(),
  names: z.record(shortText, shortText).optional(),
});
const standing = author.shape.standing;
const names = z.array(shortText).max(1_000);
const webhookReport = z.object({
  id: shortText.nullable(),
  active: z.boolean(),
  configured: names,
  missing: names,
  unknown: names,
  notes: names,
  changed: z.enum(["created", "updated"]).nullable(),
});
const projectId = z.string().max(1_000);
const noResult = z.unknown().transform(() => undefined);

/** The functions of every source whose last argument is the object of the call, and those that a source may omit. */
export const sourceAnswers = { account, check: accountReport, deliver: postedComment, find: postedComment.nullable() } as const;
export const optionalSourceAnswers = {
  poll: pollResult,
  createIssue: createdIssue,
  closeIssue: noResult,
  projectId,
  findAll: postedComment.array().max(1_000),
  retract: noResult,
  react: noResult,
  update: postedComment,
  standing,
  describe: subjectDetails,
  checkWebhook: webhookReport,
} as const;

export const pageList = z.object({
  pages: list(z.object({ id: shortText, revision: shortText })),
  cursor: z.string().max(100_000).nullable(),
});
const pages = z
  .array(
    z.object({
      id: shortText,
      revision: shortText,
      title: shortText,
      url: shortText.nullable(),
      space: shortText.nullable(),
      body: z.string().max(4_000_000),
      author: shortText.nullable().default(null),
      edited_at: shortText.nullable().default(null),
    }),
  )
  .max(100);
export const knowledgeAnswers = { list: pageList, read: pages } as const;

const memory = z.object({
  id: shortText,
  key: shortText,
  content: text,
  scope: z.enum(["task", "agent", "project", "organizational"]),
  agent_id: shortText.nullable(),
  project_id: z.number().nullable(),
  task_id: shortText.nullable(),
  created_at: shortText,
  updated_at: shortText,
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
  unembedded: list(z.object({ id: shortText, content: text })),
  embed: noResult,
  clearVectors: noResult,
  sweep: z.int().min(0),
  check: noResult,
} as const;

export const routeAnswer = z.object({
  status: z.int(),
  headers: z.record(z.string().max(200), shortText).optional(),
  body: json,
});

const cloudEvent = z.object({
  specversion: z.literal("1.0"),
  id: shortText,
  source: shortText,
  type: shortText,
  subject: shortText.optional(),
  time: shortText,
  datacontenttype: z.literal("application/json"),
  data: json,
});
/** A queue that refuses nothing may return nothing. */
const refusedMessages = list(z.object({ id: shortText, reason: shortText }))
  .nullish()
  .transform((refused) => refused ?? []);
export const queueAnswers = {
  publish: refusedMessages,
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
    status: shortText,
    project: z.object({ project_id: shortText, name: shortText, id: z.int() }),
    agents_verified: z.array(shortText).max(1_000),
    tracker_issue: z.object({ key: shortText, url: shortText }).nullable(),
    next_steps: z.array(shortText).max(1_000),
  }),
  teardown: z.object({ status: shortText, project_deleted: z.boolean(), issue_closed: z.boolean() }),
} as const;
