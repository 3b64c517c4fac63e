import { MemoryScope } from "../../examples/agent-typescript/gen/gateway_pb.js";
import { type GrpcGateway, grpcGateway } from "../harness/grpc-agent.ts";
import { type ServiceOptions, startService } from "../harness/service.ts";
import { program } from "./contender.ts";
import { at } from "./load.ts";
import { median, report } from "./report.ts";

const rounds = 3;
const levels = [
  { calls: 1, total: 1_000 },
  { calls: 16, total: 3_000 },
];
const key = "bench";
interface Contender {
  readonly name: string;
  readonly gateway: GrpcGateway;
  readonly sessionId: string;
  close(): Promise<void>;
}
interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** Reads a memory by key over native gRPC, with its session and its rate limit, compared with a bare echo of connect-node. */
export async function run(): Promise<void> {
  if (!process.env.TEST_DATABASE_URL) throw new Error("The benchmark needs TEST_DATABASE_URL.");
  const redis = process.env.TEST_REDIS_URL;
  const echo = await program("connect-node, a ready answer", "grpc-echo.ts");
  const contenders: Contender[] = [
    { name: echo.name, gateway: grpcGateway(echo.port), sessionId: "none", close: () => echo.close() },
    await signalbox("Signalbox, PostgreSQL", { database: "postgres" }),
    ...(redis ? [await signalbox("Signalbox, PostgreSQL and Redis", { database: "postgres", env: { REDIS_URL: redis } })] : []),
    await signalbox("Signalbox, embedded", {}),
  ];
  const results = new Map(contenders.map(({ name }) => [name, levels.map((): Measured[] => [])]));
  for (const contender of contenders) await load(contender, { calls: 16, total: 1_000 });
  for (let round = 0; round < rounds; round++)
    for (const contender of contenders)
      for (const [i, level] of levels.entries()) results.get(contender.name)?.[i]?.push(await load(contender, level));
  for (const contender of contenders) await contender.close();

  const middle = (name: string, level: number, what: keyof Measured) =>
    median((results.get(name)?.[level] ?? []).map((one) => one[what]));
  const row = (name: string) =>
    levels.flatMap((_, i) => (["p50", "p99", "perSecond"] as const).map((what) => middle(name, i, what)));
  const [limit = [], ...ours] = contenders.map(({ name }) => row(name));
  report({
    name: "gateway",
    about: `MemoryRetrieve over gRPC, one connection; median of ${rounds} interleaved rounds; ms and calls/s`,
    columns: ["", ...levels.flatMap(({ calls }) => ["p50", "p99", "calls/s"].map((what) => `${what}, ${calls} at a time`))],
    rows: contenders.map(({ name }) => [name, ...row(name)]),
    findings: ours.map((own, i) => {
      const ratios = own.map((value, column) => (value / (limit[column] ?? 1)).toFixed(2));
      return `${contenders[i + 1]?.name} ÷ echo: p50, p99, calls/s ${ratios.slice(0, 3).join(", ")}; 16 at a time ${ratios.slice(3).join(", ")}`;
    }),
  });
}

async function signalbox(name: string, options: ServiceOptions): Promise<Contender> {
  const service = await startService({ ...options, env: { RATE_LIMIT_PRIVILEGED: "1000000", ...options.env } });
  await service.post("/api/agents", { id: "bench", name: "B", role_id: "dev", prompt: "p", trust_level: "privileged" });
  const gateway = grpcGateway(service.grpcPort);
  const { sessionId } = await gateway.registerAgent({ agentId: "bench" });
  await gateway.memoryStore({ sessionId, key, content: "x".repeat(200), scope: MemoryScope.AGENT });
  return { name, gateway, sessionId, close: () => service.close() };
}

async function load({ gateway, sessionId }: Contender, { calls, total }: (typeof levels)[number]): Promise<Measured> {
  const times: number[] = [];
  let left = total;
  const began = performance.now();
  const one = async () => {
    while (left-- > 0) {
      const sent = performance.now();
      await gateway.memoryRetrieve({ sessionId, key });
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: calls }, one));
  const seconds = (performance.now() - began) / 1000;
  times.sort((a, b) => a - b);
  return { perSecond: total / seconds, p50: at(times, 0.5), p99: at(times, 0.99) };
}
