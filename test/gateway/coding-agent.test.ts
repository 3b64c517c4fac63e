import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Running, root, run } from "../harness/process.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";
import { inParallel } from "../plugins/connector-faults.ts";

/** Tasks with faults of the platform and kills of the bridge and of the service. More with `CONNECTOR_EVENTS=1000`. */
const events = Number(process.env.CONNECTOR_EVENTS ?? 8);
const repo = "octo/app";
const secret = "a secret of the bridge";
const token = "a-token-that-may-push";

interface PullRequest {
  readonly head: string;
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly html_url: string;
}

describe("a coding agent behind the gateway", { tags: ["bubblewrap"] }, () => {
  let world: World;
  let folder: string;
  let github: Server;
  let bridge: Running;
  const opened: PullRequest[] = [];
  /** For each request to the platform, whether it fails before or after it has been carried out. */
  let fault = (): "before" | "after" | null => null;
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder, encoding: "utf8" }).trim();
  const commit = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "-m", "First"];

  // The part of the platform that handles pull requests.
  const answer = (method: string, url: URL, body: string): unknown => {
    const branch = url.searchParams.get("head")?.replace(/^octo:/, "");
    if (method === "GET") return opened.filter(({ head }) => head === branch);
    const made = { ...JSON.parse(body), html_url: `https://github.example/${repo}/pull/${opened.length + 1}` };
    opened.push(made);
    return made;
  };
  const startBridge = async (command: string) => {
    const env = {
      SIGNALBOX_URL: world.service.url,
      AGENT_SECRET: secret,
      HEARTBEAT_SECONDS: "0.5",
      CODING_COMMAND: command,
      REPOSITORIES: repo,
      GIT_URL: join(folder, "origin.git"),
      WORK_FOLDER: join(folder, "work"),
      GITHUB_TOKEN: token,
      GITHUB_API_URL: `http://127.0.0.1:${(github.address() as AddressInfo).port}`,
    };
    bridge = run("node", "examples/agent-bridges/coding-agent.ts", { cwd: root, env });
    const streams = async () => {
      const { body } = await world.service.get<{ agents: { streams: number }[] }>("/api/status");
      return /registered as/.test(bridge.logs()) && body.agents.some((one) => one.streams > 0);
    };
    await eventually(streams, { timeout: 60_000 });
  };
  const stopBridge = async () => {
    bridge.signal("SIGKILL");
    await bridge.ended;
  };
  const about = async (number: number) => {
    const { body } = await world.service.webhook(issueOpened({ repo, number, title: "The greeting is wrong" }));
    return body.event_id;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-coding-"));
    git("init", "--quiet", "--initial-branch=main", "files");
    writeFileSync(join(folder, "files/greeting.txt"), "helo\n");
    git("-C", "files", "add", ".");
    git("-C", "files", ...commit);
    git("clone", "--quiet", "--bare", "files", "origin.git");
    github = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      const url = new URL(request.url ?? "/", "http://localhost");
      const allowed = request.headers.authorization === `Bearer ${token}` && url.pathname === `/repos/${repo}/pulls`;
      const failure = fault();
      const made = allowed && failure !== "before" ? answer(request.method ?? "", url, body) : { message: "Not Found" };
      response.writeHead(failure ? 502 : allowed ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify(failure ? { message: "Bad Gateway" } : made));
    }).listen(0, "127.0.0.1");
    // Enough attempts that a bridge which refuses a task does not use them up before the test stops it.
    const env = { EXECUTION_LEASE_SECONDS: "6", BUDGET_AUTHOR_RUNS_PER_HOUR: "0", EXECUTION_RETRY_LIMIT: "10" };
    world = await startWorld({ tasks: [], env });
    const { service } = world;
    const made = [
      await service.post("/api/agents", {
        id: "coding_agent",
        name: "Coder",
        role_id: "dev",
        prompt: "Fix the issue.",
        auth_enabled: true,
        auth_secret: secret,
        trust_level: "privileged",
      }),
      await service.post("/api/tasks", { id: "fix", name: "Fix it", description: "Fix the issue.", actor_id: "coding_agent" }),
      await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: "fix" }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  }, 120_000);
  afterAll(async () => {
    bridge?.signal("SIGKILL");
    github?.close();
    await world?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test("its changes become one pull request, which the comment links to; it sees neither the token nor the machine", async () => {
    const probes = [
      "cat > /tmp/prompt; grep -q 'The greeting is wrong' /tmp/prompt && echo 'It read the issue.'",
      "sed -i s/helo/hello/ greeting.txt",
      'echo "Token: [$GITHUB_TOKEN]."',
      `ls ${folder} > /dev/null 2>&1 || echo 'No folder of the bridge.'`,
      "touch /usr/mark 2> /dev/null || echo 'Nothing else can be written.'",
      `mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ${folder}/escaped\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
    ];
    await startBridge(probes.join("; "));
    const event_id = await about(1);
    const [execution] = await waitForExecutions(world.service, { event_id, timeout: 60_000 });
    expect(execution).toMatchObject({ agent_id: "coding_agent", state: "succeeded" });
    const summary = "It read the issue.\nToken: [].\nNo folder of the bridge.\nNothing else can be written.";
    const branch = `signalbox/${execution?.id}`;
    expect(opened).toMatchObject([{ head: branch, base: "main", title: "Fix it (#1)", body: `${summary}\n\nFor #1.` }]);
    expect(textsOf(world.tracker, repo, 1)[0]).toContain(`I opened ${opened[0]?.html_url}.`);
    expect(git("-C", "origin.git", "show", `${branch}:greeting.txt`)).toBe("hello");
    // A hook of the working tree would run outside of the sandbox.
    expect(existsSync(join(folder, "escaped"))).toBe(false);
    expect(git("-C", "origin.git", "diff", "--name-only", "main", branch)).toBe("greeting.txt");
    await stopBridge();
  });

  test("a bridge that is killed after it opened the pull request opens no second one", async () => {
    await startBridge("echo slow >> greeting.txt");
    const before = opened.length;
    const event_id = await about(2);
    await eventually(() => opened.length > before, { timeout: 60_000, interval: 2 });
    await stopBridge();
    await startBridge("echo again >> greeting.txt");
    const [execution] = await waitForExecutions(world.service, { event_id, timeout: 60_000 });
    expect(execution?.state).toBe("succeeded");
    expect(opened.length).toBe(before + 1);
    expect(textsOf(world.tracker, repo, 2)).toHaveLength(1);
    await stopBridge();
  });

  test("a task about another repository is refused, and nothing is cloned", async () => {
    await startBridge("echo never >> greeting.txt");
    const { body } = await world.service.webhook(issueOpened({ repo: "octo/other", number: 3 }));
    await eventually(() => /the task is about octo\/other; REPOSITORIES allows only octo\/app/.test(bridge.logs()), {
      timeout: 30_000,
    });
    await stopBridge();
    expect((await waitForExecutions(world.service, { event_id: body.event_id, timeout: 60_000 }))[0]?.state).toBe("succeeded");
    expect(world.model.chats()).not.toEqual([]);
  });

  test(`${events} tasks with faults of the platform and kills of the bridge and the service: one comment, at most one pull request`, {
    timeout: 90_000 + events * 2_000,
  }, async () => {
    const all = Array.from({ length: events }, (_, at) => at + 4);
    const before = opened.length;
    let requests = 0;
    fault = () => (++requests % 9 === 4 ? "before" : requests % 9 === 8 ? "after" : null);
    await startBridge("date +%N >> greeting.txt; echo Done.");
    await inParallel(all, async (number) => void (await about(number)));
    const answered = () => all.filter((number) => textsOf(world.tracker, repo, number).length > 0).length;
    const timeout = 45_000 + events * 1_900;
    await eventually(() => answered() >= events / 4, { timeout });
    await stopBridge();
    await startBridge("date +%N >> greeting.txt; echo Done.");
    await eventually(() => answered() >= events / 2, { timeout });
    await world.service.kill();
    await world.service.restart();
    await eventually(() => answered() === events, { timeout });
    expect(all.filter((number) => textsOf(world.tracker, repo, number).length !== 1)).toEqual([]);
    const heads = opened.slice(before).map(({ head }) => head);
    expect(heads.length).toBe(new Set(heads).size);
    // While the bridge is not connected, the model does its tasks; each of the others names its own pull request.
    const named = all.flatMap(
      (number) => /I opened (\S+?)\.?(?: for this\.)?$/m.exec(textsOf(world.tracker, repo, number)[0] ?? "")?.[1] ?? [],
    );
    expect(named.length).toBeGreaterThan(0);
    expect(new Set(named).size).toBe(named.length);
    expect(opened.map(({ html_url }) => html_url)).toEqual(expect.arrayContaining(named));
    fault = () => null;
    await stopBridge();
  });
});
