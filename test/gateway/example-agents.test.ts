import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { AgentGateway, type FailTaskRequest } from "../../examples/agent-typescript/gen/gateway_pb.js";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Running, type Runtime, root, run, runProgram } from "../harness/process.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const secret = "a secret of the agents";
type Name = "python" | "typescript";
/** The software that the tests of an example need in addition to Node. */
const needsOf: Record<Name, "python"[]> = { typescript: [], python: ["python"] };
const examples = Object.entries(needsOf) as [Name, "python"[]][];
const agentOf = (name: Name) => `${name}_agent`;

/** Follows the README of the example. Returns the id of the trigger. */
async function prepare({ service }: World, name: Name): Promise<string> {
  const [id, task_id] = [agentOf(name), `${name}_look`];
  const made = [
    await service.post("/api/agents", {
      id,
      name,
      role_id: "dev",
      prompt: "Look at the issue.",
      auth_enabled: true,
      auth_secret: secret,
    }),
    await service.post("/api/tasks", { id: task_id, name: `A look in ${name}`, description: "Look.", actor_id: id }),
    await service.post<{ id: string }>("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id }),
  ] as const;
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  return made[2].body.id;
}

function connect(name: Name, runtime: Runtime, grpcPort: number, given = secret): Running {
  const address = `127.0.0.1:${grpcPort}`;
  const env = { AGENT_ID: agentOf(name), AGENT_SECRET: given, HEARTBEAT_SECONDS: "0.5" };
  return name === "python"
    ? runProgram(inject("python"), [join(root, "examples/agent-python/agent.py")], { env: { ...env, SIGNALBOX_GRPC: address } })
    : run(runtime, "examples/agent-typescript/agent.ts", { cwd: root, env: { ...env, SIGNALBOX_GRPC: `http://${address}` } });
}

describe.each(["node", "deno"] as const)("with the service on %s, the example agent", (runtime) => {
  let world: World;
  beforeAll(async () => {
    // Longer than a busy machine holds up the heartbeats of an agent.
    world = await startWorld({ runtime, tasks: [], env: { EXECUTION_LEASE_SECONDS: "20" } });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  for (const [name, tags] of examples)
    test(`in ${name} takes an issue's task in place of the model, once, and remembers it`, { tags }, async () => {
      const { service, tracker, model } = world;
      const trigger = await prepare(world, name);
      const program = connect(name, runtime, service.grpcPort);
      const repo = `octo/${name}`;
      try {
        // Registered with an open stream; until then, the model runs its tasks.
        await eventually(
          async () => {
            expect(program.logs()).toMatch(/registered as/);
            const { body } = await service.get<{ agents: object[] }>("/api/status");
            expect(body.agents).toEqual([{ agent_id: agentOf(name), streams: 1, running: 0 }]);
            return true;
          },
          { timeout: 60_000 },
        );
        for (const number of [1, 2]) {
          const { body } = await service.webhook(issueOpened({ repo, number }));
          const [one, ...others] = await waitForExecutions(service, { event_id: body.event_id });
          expect([one, others]).toMatchObject([{ agent_id: agentOf(name), state: "succeeded" }, []]);
          const memory = await service.get<{ scope: string; agent_id: string }>(`/api/memory/${one?.agent_id}:${one?.id}`);
          expect(memory.body).toMatchObject({ scope: "agent", agent_id: one?.agent_id });
          const texts = textsOf(tracker, repo, number);
          expect(texts).toEqual([expect.stringContaining(`${agentOf(name)} has looked at **A look in ${name}**`)]);
          expect(texts[0]?.includes("It remembers:")).toBe(number === 2);
        }
        expect(model.chats()).toEqual([]);
      } finally {
        program.signal("SIGKILL");
        await service.del(`/api/tasks/triggers/${trigger}`);
      }
    });
  for (const [name, tags] of runtime === "node" ? examples : [])
    test(`in ${name} says why it cannot register`, { tags }, async () => {
      const program = connect(name, "node", world.service.grpcPort, "wrong");
      expect(await program.ended).toEqual({ code: 1, signal: null });
      expect(program.logs()).toMatch(/The secret of the agent/);
    });
});

for (const [name, tags] of examples)
  test(`a result that is too large becomes a failure with the reason in ${name}`, { tags }, async () => {
    const failed = Promise.withResolvers<FailTaskRequest>();
    const routes = (router: ConnectRouter) =>
      router.service(AgentGateway, {
        registerAgent: () => ({ sessionId: "s1" }),
        memorySearch: () => ({}),
        memoryStore: () => ({}),
        receiveTasks: async function* (_, { signal }) {
          yield { executionId: "e1", taskName: "A look" };
          await once(signal, "abort");
        },
        completeTask: () => {
          throw new ConnectError("The message is too large.", Code.ResourceExhausted);
        },
        failTask: (request) => {
          failed.resolve(request);
          return {};
        },
      });
    const gateway = createServer(connectNodeAdapter({ routes }));
    const [port = 0] = await freePorts(1);
    await new Promise<void>((done) => gateway.listen(port, "127.0.0.1", done));
    const program = connect(name, "node", port);
    try {
      const ended = program.ended.then(() => Promise.reject(new Error(`The agent ended: ${program.logs()}`)));
      const { error, retryable } = await Promise.race([failed.promise, ended]);
      expect(error).toMatch(/resource_?exhausted.*The message is too large\./i);
      expect(retryable).toBe(false);
    } finally {
      program.signal("SIGKILL");
      await program.ended;
      gateway.close();
    }
  });

describe("the examples' generated code matches gateway.proto", () => {
  const gen = join(root, "schema/gen");
  test("typescript: `npm run generate` in its folder changes nothing", () => {
    const folder = join(root, "examples/agent-typescript");
    const out = mkdtempSync(join(tmpdir(), "signalbox-gen-"));
    try {
      const args = ["generate", gen, "--template", "buf.gen.yaml", "--path", join(gen, "gateway.proto"), "-o", out];
      execFileSync(join(root, "node_modules/.bin/buf"), args, { cwd: folder, env: withBinaries() });
      const read = (from: string) => readdirSync(from).map((name) => [name, readFileSync(join(from, name), "utf8")]);
      expect(read(join(folder, "gen"))).toEqual(read(join(out, "gen")));
    } finally {
      rmSync(out, { recursive: true });
    }
  });
  test("python: the descriptors are the same", { tags: ["python"] }, () => {
    const program = "import sys, gateway_pb2; sys.stdout.buffer.write(gateway_pb2.DESCRIPTOR.serialized_pb)";
    const cwd = join(root, "examples/agent-python");
    const python = fromBinary(FileDescriptorProtoSchema, execFileSync(inject("python"), ["-B", "-c", program], { cwd }));
    const args = [
      "build",
      gen,
      "--as-file-descriptor-set",
      "--exclude-source-info",
      "--path",
      join(gen, "gateway.proto"),
      "-o",
      "-",
    ];
    const set = fromBinary(FileDescriptorSetSchema, execFileSync(join(root, "node_modules/.bin/buf"), args));
    const ours = set.file.find(({ name }) => name === "gateway.proto");
    expect(withoutJsonNames(python)).toEqual(ours && withoutJsonNames(ours));
  });
});

const withBinaries = () => ({ ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` });
/** Python's generator omits the JSON names, because they can be derived from the others. */
const withoutJsonNames = (file: FileDescriptorProto): unknown =>
  JSON.parse(JSON.stringify(toJson(FileDescriptorProtoSchema, file)), (key, value) => (key === "jsonName" ? undefined : value));
