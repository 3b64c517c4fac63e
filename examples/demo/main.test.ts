import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "@signalbox/sdk/testing";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const bin = join(root, "node_modules/.bin");
const file = "examples/demo/main.ts";

async function demo(command: string, args: readonly string[]) {
  // Other tests use the default ports meanwhile: if they took one while this starts, it would start again.
  const [port, grpcPort] = await freePorts(2);
  const env = { ...process.env, PORT: String(port), GRPC_PORT: String(grpcPort) };
  const child = spawn(join(bin, command), args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = new Promise<{ code: number | null; output: string }>((done) =>
    child.once("close", (code) => done({ code, output })),
  );
  return { child, ended, output: () => output, ports: `PORT=${port} GRPC_PORT=${grpcPort}` };
}

const folders = (output: string): string[] => output.match(/signalbox-demo-\w+/g) ?? [];

function expectDemonstration(output: string, source: string, name: string): void {
  for (const part of [
    /answers 202 accepted after \d+ ms/,
    /trigger issue\.created fires 2 tasks/,
    new RegExp(`calls ${source}\\.get_issue`),
    new RegExp(`${name} in the tracker: 2 comments`),
    /Triage/,
    /Technical review/,
    /“Discount code is taken off twice/,
    /Written by the scripted demo model/,
    /answers 200 duplicate/,
    /still 2 comments/,
  ]) {
    expect(output).toMatch(part);
  }
  expect(output).not.toContain("\u001b[");
  expect(folders(output)).toHaveLength(1);
}

// With the one of alpha below each platform once, and both runtimes twice.
test.each([
  ["beta", "deno", ["run", "-A"], "octo/team/app#1"],
  ["gamma", "node", [], "APP-1"],
  ["delta", "deno", ["run", "-A"], "APP-1"],
])(
  "the demonstration of %s succeeds on %s and leaves nothing behind",
  {
    timeout: 360_000,
  },
  async (source, command, args, name) => {
    const { ended, ports } = await demo(command, [...args, file, "--source", source]);
    const { code, output } = await ended;
    expect(code, output).toBe(0);
    expectDemonstration(output, source, name);
    const script = command === "deno" ? "demo:deno" : "demo";
    expect(output).toContain(`${ports} npm run ${script} -- --keep --source ${source} `);
    expect(output).toContain(`${ports} npm run ${script} -- --source `);
    expect(readdirSync(tmpdir())).not.toContain(folders(output)[0]);
  },
);

test("--use-case sets up, goes through three analyses, and tears down", { timeout: 360_000 }, async () => {
  const { code, output } = await (await demo("node", [file, "--use-case"])).ended;
  expect(code, output).toBe(0);
  const inOrder = [
    "the issue signalbox-demo/module-update#1",
    "pm_default triage_initial_intent succeeded",
    "fires tech_discovery_review",
    "ta_default tech_discovery_review succeeded",
    "fires quality_verification",
    "qa_default quality_verification succeeded",
    "3 comments",
    "answers torn_down",
    "answers nothing_to_do",
    "still has its 5 agents and 9 tasks",
  ];
  expect(output).toMatch(new RegExp(inOrder.join("[^]*")));
});

test("--trust shows how each attack and accident ends, and why, on a page", { timeout: 360_000 }, async () => {
  const { code, output } = await (await demo("node", [file, "--trust"])).ended;
  expect(code, output).toBe(0);
  const inOrder = [
    "helper\\[bot\\] is a bot, and TRIGGER_ALLOWED_BOTS",
    "stopped after (?:\\d|10|11) comments: the next run is held",
    "LOOP_MAX_HOPS in",
    "1 run and 1 comment",
    "superseded by event",
    "only read tools: alpha\\.get_issue",
    "/stop requires the standing collaborator or higher",
    "the model, which is unavailable",
    "10 runs succeeded, one comment each",
    "an HTML comment +removed",
    "the token in plain text +read and obeyed: defused",
    "a comment on other issues +read and obeyed: all \\d calls refused",
  ];
  expect(output).toMatch(new RegExp(inOrder.join("[^]*")));
  expect(output.split("\n").length).toBeLessThan(70);
  expect(readdirSync(tmpdir())).not.toContain(folders(output)[0]);
});

test("the demonstration of alpha with --keep leaves the service running until Ctrl-C", { timeout: 360_000 }, async () => {
  const run = await demo("node", [file, "--source", "alpha", "--keep"]);
  // Its last line.
  while (!/connect your own tracker and model/.test(run.output())) {
    if (run.child.exitCode !== null) throw new Error(run.output());
    await sleep(50);
  }
  expectDemonstration(run.output(), "alpha", "acme/webshop#42");
  const url = /(http:\/\/[\d.:]+)\/docs/.exec(run.output())?.[1];
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/docs`)).status).toBe(200);
  run.child.kill("SIGINT");
  expect((await run.ended).code).toBe(0);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  expect(readdirSync(tmpdir())).not.toContain(folders(run.output())[0]);
});

test("an unknown platform is refused with a list of the known ones", async () => {
  const { code, output } = await (await demo("node", [file, "--source", "omega"])).ended;
  expect(code).toBe(2);
  expect(output).toMatch(/--source: must be one of alpha, beta, gamma, delta; it is "omega"/);
  expect((await (await demo("node", [file, "--use-case", "--source", "beta"])).ended).output).toMatch(
    /--use-case: requires --source alpha; it is beta/,
  );
  expect((await (await demo("node", [file, "--trust", "--use-case"])).ended).output).toMatch(
    /--trust: cannot be combined with --use-case/,
  );
});
