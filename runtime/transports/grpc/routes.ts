import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Scope } from "@signalbox/schema/operation";
import { abortable } from "../../platform/abortable.ts";
import { type Actor, type BoundOperation, type Context, invoke, invokeStream, requestIdOf } from "../../platform/operation.ts";
import { fromAbort, toConnectError } from "./errors.ts";
import type { FieldNumbers } from "./field-numbers.ts";
import { project, type Rpc } from "./projection.ts";

export interface GrpcContext extends Pick<Context, "sql" | "log"> {
  /** Throws an `unauthenticated` or `forbidden` problem. */
  authenticate(proof: { authorization?: string; address: () => string | null }, scope: Scope): Promise<Actor>;
}

/** Set by the server for each call: aborted when the server begins to stop, so that endless streams end in time. */
export const stoppingKey = createContextKey<AbortSignal | undefined>(undefined, { description: "the server stops" });

/** Set by the server for each call: the address of the caller. */
export const addressKey = createContextKey<() => string | null>(() => null, { description: "the address of the caller" });

/** All operations that have an `rpc`, as Connect services. Throws when a field has no committed number. */
export function grpcRoutes(
  operations: readonly BoundOperation[],
  context: GrpcContext,
  numbers?: FieldNumbers,
): (router: ConnectRouter) => void {
  const handlers = new Map(operations.map((one) => [one.op, one]));
  const services = project(
    operations.map(({ op }) => op),
    numbers,
  );
  return (router) => {
    for (const { desc, rpcs } of services) {
      const methods = rpcs.map((rpc) => [
        rpc.method,
        (rpc.op.streaming ? stream : unary)(rpc, handlers.get(rpc.op) as BoundOperation, context),
      ]);
      router.service(desc, Object.fromEntries(methods));
    }
  };
}

const unary = (rpc: Rpc, operation: BoundOperation, context: GrpcContext) => async (request: Message, call: HandlerContext) => {
  try {
    const actor = await authenticate(rpc, context, call);
    const run = invoke(operation, rpc.read(request), contextOf(context, actor, call, call.signal));
    return rpc.write(await abortable(run, call.signal));
  } catch (error) {
    throw toConnectError(rpc.explain(error, request), { signal: call.signal, log: context.log, operation: rpc.op.id });
  }
};

const stream = (rpc: Rpc, operation: BoundOperation, context: GrpcContext) =>
  async function* (request: Message, call: HandlerContext): AsyncGenerator<Message> {
    const stopSignal = call.values.get(stoppingKey);
    const signal = stopSignal ? AbortSignal.any([call.signal, stopSignal]) : call.signal;
    try {
      const actor = await authenticate(rpc, context, call);
      const outputs = invokeStream(operation, rpc.read(request), contextOf(context, actor, call, signal));
      for await (const output of untilAborted(outputs, signal)) yield rpc.write(output);
    } catch (error) {
      throw toConnectError(rpc.explain(error, request), { signal, log: context.log, operation: rpc.op.id });
    }
    if (signal.aborted) throw fromAbort(signal.reason);
  };

const contextOf = ({ sql, log }: GrpcContext, actor: Actor, call: HandlerContext, signal: AbortSignal): Context => ({
  sql,
  log,
  actor,
  signal,
  address: call.values.get(addressKey),
  request_id: requestIdOf(call.requestHeader),
});

/** The abort reason of the signal of `stoppingKey`. It tells the client to retry with another replica. */
export const stoppingError = (): ConnectError => new ConnectError("The server is stopping; connect again", Code.Unavailable);

function authenticate(rpc: Rpc, context: GrpcContext, call: HandlerContext): Promise<Actor> {
  const authorization = call.requestHeader.get("authorization");
  const address = call.values.get(addressKey);
  return context.authenticate(authorization === null ? { address } : { authorization, address }, rpc.op.scope);
}

/** Passes outputs on until the signal is aborted, then throws its reason. Lets the source of the outputs clean up. */
export async function* untilAborted<T>(outputs: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = outputs[Symbol.asyncIterator]();
  let open = true;
  try {
    for (;;) {
      const next = await abortable(iterator.next(), signal);
      if (next.done) {
        open = false;
        return;
      }
      yield next.value;
    }
  } finally {
    // Not awaited: a generator that hangs in `next` returns only after it.
    if (open) iterator.return?.()?.catch(() => {});
  }
}
