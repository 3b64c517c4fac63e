import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { OpenStreams } from "./open-streams.ts";
import { Health } from "./well-known.ts";

/** Most streams of Watch of all connections. */
const maxWatches = 250;

const status = { serving: 1, notServing: 2, serviceUnknown: 3 };

interface HealthOptions {
  /** Full names of the services; the empty name is the whole server. */
  readonly services: ReadonlySet<string>;
  readonly ready: () => boolean | Promise<boolean>;
  readonly stopSignal: AbortSignal;
  /** Interval at which Watch checks, in milliseconds. */
  readonly everyMs: number;
}

/** grpc.health.v1.Health, https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
export function healthRoutes(router: ConnectRouter, options: HealthOptions): void {
  const response = (Health.method.check as { output: DescMessage }).output;
  const answer = (code: number) => create(response, { status: code } as never);
  // Anyone may ask, and each check queries the database.
  const keepMs = Math.min(1_000, options.everyMs / 2);
  let lastCheck = { at: Number.NEGATIVE_INFINITY, ready: Promise.resolve(false) };
  const isReady = (): Promise<boolean> => {
    const at = performance.now();
    if (at - lastCheck.at > keepMs) lastCheck = { at, ready: Promise.resolve(options.ready()).catch(() => false) };
    return lastCheck.ready;
  };
  const streams = new OpenStreams(maxWatches);
  const statusOf = async (service: string): Promise<number> => {
    if (service !== "" && !options.services.has(service)) return status.serviceUnknown;
    if (options.stopSignal.aborted) return status.notServing;
    return (await isReady()) ? status.serving : status.notServing;
  };
  router.service(Health, {
    async check(request: Message) {
      const { service } = request as Message & { service: string };
      const code = await statusOf(service);
      if (code === status.serviceUnknown) throw new ConnectError(`There is no service "${service}" here`, Code.NotFound);
      return answer(code);
    },
    async *watch(request: Message, call: HandlerContext) {
      const { service } = request as Message & { service: string };
      using _ = streams.open();
      let last = -1;
      while (!call.signal.aborted) {
        const code = await statusOf(service);
        if (code !== last) yield answer(code);
        last = code;
        if (options.stopSignal.aborted) return;
        await pause(options.everyMs, [call.signal, options.stopSignal]);
      }
    },
  } as never);
}

function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => resolve();
  const timer = setTimeout(done, ms);
  for (const signal of signals) signal.addEventListener("abort", done, { once: true });
  return promise.finally(() => {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", done);
  });
}
