import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Running, type Runtime, root, run, runProgram } from "../harness/process.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { anyDatabase, startWorld, textsOf, type World } from "../harness/world.ts";

const repo = "octo/app";
const secret = "a secret of the agents";
const names = ["python", "typescript"] as const;
type Name = (typeof names)[number];
const agentOf = (name: Name) => `${name}_agent`;

/** As the READMEs of the examples say. */
async function prepare({ service }: World): Promise<void> {
  for (const name of names) {
    const [id, task_id] = [agentOf(name), `${name}_look`];
    const made = [
      await service.post("/api/agents", {
        ...{ id, name, role_id: "dev", prompt: "Look at the issue." },
        ...{ auth_enabled: true, auth_secret: secret },
      }),
      await service.post("/api/tasks", { id: task_id, name: `A look in ${name}`, description: "Look.", actor_id: id }),
      await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  }
}

function connect(name: Name, runtime: Runtime, grpcPort: number, given = secret): Running {
  const address = `127.0.0.1:${grpcPort}`;
  const env = { AGENT_ID: agentOf(name), AGENT_SECRET: given, HEARTBEAT_SECONDS: "0.5" };
  return name === "python"
    ? runProgram("/usr/bin/python3", [join(root, "examples/agent-python/agent.py")], { env: { ...env, SIGNALBOX_GRPC: address } })
    : run(runtime, "examples/agent-typescript/agent.ts", { cwd: root, env: { ...env, SIGNALBOX_GRPC: `http://${address}` } });
}

describe.each(["node", "deno"] as const)("the example agents, with the service on %s", (runtime) => {
  test("take an issue's tasks in place of the model, once each, and remember them", async () => {
    await using world = await startWorld({ database: anyDatabase(), runtime, tasks: [] });
    await prepare(world);
    const { service, tracker, model } = world;
    const programs = names.map((name) => connect(name, runtime, service.grpcPort));
    try {
      await eventually(() => programs.every((program) => /registered as/.test(program.logs())), { timeout: 30_000 }).catch(
        (error) => {
          throw new Error(`${error}\n${programs.map((program) => program.logs()).join("\n")}`);
        },
      );
      for (const number of [1, 2]) {
        const { body } = await service.webhook(issueOpened({ repo, number }));
        const done = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
        expect(done.map(({ agent_id, state }) => [agent_id, state]).sort()).toEqual(
          names.map((name) => [agentOf(name), "succeeded"]),
        );
        for (const one of done) {
          const memory = await service.get<{ scope: string; agent_id: string }>(`/api/memory/${one.agent_id}:${one.id}`);
          expect(memory.body).toMatchObject({ scope: "agent", agent_id: one.agent_id });
        }
        const texts = textsOf(tracker, repo, number);
        expect(texts).toEqual(
          names.map((name) => expect.stringContaining(`${agentOf(name)} has looked at **A look in ${name}**`)),
        );
        expect(texts.every((text) => text.includes("It remembers:"))).toBe(number === 2);
      }
      expect(model.chats()).toEqual([]);
    } finally {
      for (const program of programs) program.signal("SIGKILL");
    }
  });
});

test("the example agents say why they cannot register", async () => {
  await using world = await startWorld({ database: anyDatabase(), tasks: [] });
  await prepare(world);
  for (const name of names) {
    const program = connect(name, "node", world.service.grpcPort, "wrong");
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.logs()).toMatch(/not registered: .*The secret of the agent/);
  }
});

describe("what is generated for the examples is that of gateway.proto", () => {
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
  test("python: the descriptors are the same", () => {
    const program = "import sys, gateway_pb2; sys.stdout.buffer.write(gateway_pb2.DESCRIPTOR.serialized_pb)";
    const cwd = join(root, "examples/agent-python");
    const python = fromBinary(FileDescriptorProtoSchema, execFileSync("/usr/bin/python3", ["-B", "-c", program], { cwd }));
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
/** Python's generator leaves out the names that JSON has, since they follow from the others. */
const withoutJsonNames = (file: FileDescriptorProto): unknown =>
  JSON.parse(JSON.stringify(toJson(FileDescriptorProtoSchema, file)), (key, value) => (key === "jsonName" ? undefined : value));
