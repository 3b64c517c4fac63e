import { type Input, type Operation, operation, pageOf, paging } from "@signalbox/schema/operation";
import { problem, problems } from "@signalbox/schema/problem";
import { z } from "zod";
import { type BoundOperation, type Context, handle } from "../../../platform/operation.ts";

/** Example operations with every schema shape that a noun may use. */
const part = z
  .object({ name: z.string(), weight: z.number().optional(), kind: z.enum(["raw", "spare-part"]) })
  .meta({ id: "Part" });

export const widget = z
  .object({
    id: z.string().min(1).describe("Chosen by its author."),
    size: z.int().min(0).max(1_000),
    serial: z.int().describe("Beyond 32 bits."),
    ratio: z.number(),
    on: z.boolean(),
    color: z.enum(["red", "light-blue", "issue.created"]),
    mood: z.enum(["glad", "sad"]).nullish(),
    note: z.string().nullable(),
    count: z.int().optional(),
    made_at: z.iso.datetime(),
    kind: z.literal("widget"),
    ref: z.union([z.string(), z.int()]),
    box: z.object({ width: z.int32(), lid: z.object({ tight: z.boolean() }).optional() }),
    part: part.nullable(),
    parts: z.array(part),
    tags: z.array(z.string()).optional(),
    colors: z.array(z.enum(["red", "green"])),
    labels: z.record(z.string(), z.string()),
    by_name: z.record(z.string(), part),
    levels: z.record(z.string(), z.enum(["low", "high"])).optional(),
    payload: z.unknown(),
    extra: z.record(z.string(), z.unknown()),
    matrix: z.array(z.array(z.number())),
    holes: z.array(z.string().nullable()),
    get inner() {
      return widget.optional();
    },
    shape: z.discriminatedUnion("type", [
      z.object({ type: z.literal("circle"), radius: z.number() }),
      z.object({ type: z.literal("square"), side: z.number() }),
    ]),
  })
  .meta({ id: "Widget" });

export const echo = operation({
  id: "widgets.echo",
  http: "POST /widgets",
  rpc: "WidgetService.EchoWidget",
  summary: "Give back what came in.",
  input: z.object({ widget, limit: z.int().min(1).max(10).default(7) }),
  output: widget,
});
export const seen = operation({
  id: "widgets.update",
  http: "PUT /widgets/:id",
  rpc: "WidgetService.UpdateWidget",
  summary: "Say what of an update arrived.",
  input: z.object({
    id: z.string(),
    note: z.string().nullish(),
    tags: z.array(z.string()).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    color: z.enum(["red", "blue"]).optional(),
    count: z.int().optional(),
    any: z.unknown(),
  }),
  output: z.object({ seen: z.unknown() }),
});
export const list = operation({
  id: "widgets.list",
  http: "GET /widgets",
  rpc: "WidgetService.ListWidgets",
  summary: "List some parts.",
  input: z.object(paging),
  output: pageOf(part),
});
export const remove = operation({
  id: "widgets.delete",
  http: "DELETE /widgets/:id",
  rpc: "WidgetService.DeleteWidget",
  summary: "Delete nothing.",
  input: z.object({ id: z.string().min(1) }),
});
export const watch = operation({
  id: "widgets.watch",
  http: "GET /widgets/watch",
  rpc: "WidgetService.WatchWidgets",
  summary: "Count up to `to`, or without end.",
  input: z.object({ to: z.int().min(0).max(1_000_000).optional(), fail_at: z.int().min(0).max(10).optional() }),
  output: z.object({ n: z.int() }),
  streaming: true,
});
export const fail = operation({
  id: "widgets.fail",
  http: "POST /widgets/fail",
  rpc: "WidgetService.FailWidget",
  summary: "Fail in the way that is asked for.",
  input: z.object({ how: z.string() }),
});
export const wait = operation({
  id: "widgets.wait",
  http: "POST /widgets/wait",
  rpc: "WidgetService.WaitWidget",
  summary: "Wait for `ms` or for the end of the call; `deaf` does not hear the end.",
  input: z.object({ ms: z.int().min(0).max(60_000), deaf: z.boolean() }),
  output: z.object({ waited: z.boolean() }),
});
export const aborted = operation({
  id: "widgets.aborted",
  http: "GET /widgets/aborted",
  rpc: "WidgetService.ListAbortedWidgets",
  summary: "How many calls that can end before their answer have begun, and how many did.",
  output: z.object({ begun: z.int(), count: z.int() }),
});
export const register = operation({
  id: "gateway.register",
  http: "POST /gateway/register",
  rpc: "AgentGateway.RegisterAgent",
  summary: "Register an agent.",
  scope: "open",
  input: z.object({ agent_id: z.string().min(1), secret: z.string(), capabilities: z.array(z.string()).default([]) }),
  output: z.object({ session_id: z.string(), trust_level: z.enum(["default", "trusted"]), requests_per_minute: z.int() }),
});
export const operations: readonly Operation[] = [echo, seen, list, remove, watch, fail, wait, aborted, register];

/** Handlers that store only how many calls have begun and were aborted. `onBegin`: a call has reached its handler. */
export function bindWidgets(onBegin = () => {}): BoundOperation[] {
  let [begun, aborts] = [0, 0];
  const heard = (signal: AbortSignal) => {
    begun += 1;
    onBegin();
    if (signal.aborted) aborts += 1;
    else signal.addEventListener("abort", () => (aborts += 1), { once: true });
  };
  return [
    handle(echo, async (input) => input.widget),
    handle(seen, async (input) => ({ seen: input })),
    handle(list, async ({ limit }) => ({
      items: Array.from({ length: limit }, (_, i) => ({ name: `part ${i}`, kind: "raw" as const })),
      total: 5_000_000_000,
    })),
    handle(remove, async () => ({})),
    { op: watch, run: watchHandler(heard) },
    handle(fail, async ({ how }) => {
      if (Object.hasOwn(problems, how))
        throw problem(how as keyof typeof problems, `It is ${how}`, { field: "how", retryAfter: 1.2 });
      throw new Error("secret text of a stack trace");
    }),
    handle(wait, ({ ms, deaf }, { signal }) => {
      heard(signal);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve({ waited: true }), ms);
        if (!deaf) signal.addEventListener("abort", () => reject(signal.reason));
        signal.addEventListener("abort", () => clearTimeout(timer));
      });
    }),
    handle(aborted, async () => ({ begun, count: aborts })),
    handle(register, async ({ agent_id }) => ({
      session_id: `session of ${agent_id}`,
      trust_level: "trusted" as const,
      requests_per_minute: 300,
    })),
  ];
}

const watchHandler = (heard: (signal: AbortSignal) => void) =>
  async function* ({ to, fail_at }: Input<typeof watch>, { signal }: Context) {
    if (to === undefined) heard(signal);
    for (let n = 1; to === undefined || n <= to; n++) {
      if (n === fail_at) throw problem("already_exists", "n: has met fail_at", { field: "n" });
      yield { n };
      if (to === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
