import { readFileSync } from "node:fs";
import http2 from "node:http2";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type JsonClient, jsonClient } from "../harness/json-client.ts";
import { root } from "../harness/process.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const admin = "an-admin-key-of-the-tests";
let world: World;
let mine: JsonClient;
let key = "";
const projects: number[] = [];
/** One execution of each project. */
const executions: string[] = [];

const create = (body: object) => world.service.post<{ id: number; key: string }>("/api/keys", body);

beforeAll(async () => {
  world = await startWorld({ env: { API_KEYS: admin }, apiKey: admin });
  for (const [n, name] of ["first", "second"].entries()) {
    const project = { name, source: "alpha", source_project_id: `octo/${name}` };
    projects.push((await world.service.post<{ id: number }>("/api/projects", project)).body.id);
    const { body } = await world.service.webhook(issueOpened({ repo: `octo/${name}`, number: n + 1 }));
    const [one] = await waitForExecutions(world.service, { event_id: body.event_id });
    expect(one).toMatchObject({ project_id: projects[n], state: "succeeded" });
    executions.push(String(one?.id));
  }
  const made = await create({ name: "of the first", scopes: ["admin"], projects: [projects[0]] });
  expect(made).toMatchObject({ status: 201, body: { projects: [projects[0]] } });
  key = made.body.key;
  mine = jsonClient(world.service.url, key);
});
afterAll(() => world?.[Symbol.asyncDispose]());

test("reads its project's executions, policy and context, without naming the project", async () => {
  const list = await mine.get<{ id: string; project_id: number }[]>("/api/task-executions");
  expect(list.status).toBe(200);
  expect(list.body.map(({ project_id }) => project_id)).toEqual(list.body.map(() => projects[0]));
  expect(list.body.map(({ id }) => id)).toContain(executions[0]);
  for (const path of [
    `/api/task-executions/${executions[0]}`,
    "/api/policy",
    `/api/projects/${projects[0]}`,
    `/api/projects/${projects[0]}/workflow-context`,
  ])
    expect([path, (await mine.get(path)).status]).toEqual([path, 200]);
});

test("can neither read nor change another project", async () => {
  const [, other] = executions;
  const absent = "00000000-0000-7000-8000-000000000000";
  for (const path of ["", "/cancel", "/approve", "/reject", "/release"]) {
    const send = path === "" ? mine.get : mine.post;
    const [there, not] = [
      await send(`/api/task-executions/${other}${path}`),
      await send(`/api/task-executions/${absent}${path}`),
    ];
    expect([path, there.status]).toEqual([path, 404]);
    expect(JSON.stringify(there.body)).toBe(JSON.stringify(not.body).replace(absent, String(other)));
  }
  expect((await mine.post(`/api/tasks/${other}/restart`)).status).toBe(404);
  // The id of a task could refer to an execution of any project.
  expect((await mine.post("/api/tasks/first/restart")).status).toBe(404);
  for (const path of ["/api/task-executions", "/api/policy"])
    expect(await mine.get(`${path}?project_id=${projects[1]}`)).toMatchObject({
      status: 403,
      body: { error: `project_id: the API key "of the first" is restricted to the project ${projects[0]}` },
    });
  expect((await mine.get(`/api/projects/${projects[1]}`)).status).toBe(403);
});

test("everything that is not about one project is refused, whatever its scopes", async () => {
  const { body } = await world.service.get<{
    paths: Record<string, Record<string, { operationId: string; security?: object[] }>>;
  }>("/openapi.json");
  const allowed =
    /^(\/api\/(task-executions(\/\{id\}(\/(events|cancel|approve|reject|release))?)?|policy|tasks\/\{id\}\/restart|projects\/\{id\}(\/workflow-context)?))$/;
  const all = Object.entries(body.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ path, method })));
  const refused = all.filter(({ path, method }) => !allowed.test(path) || !["get", "post"].includes(method));
  expect(refused.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const { path, method } of refused) {
    const url = world.service.url + path.replaceAll(/\{\w+\}/g, "1");
    const answer = await fetch(url, { method: method.toUpperCase(), headers: { authorization: `Bearer ${key}` } });
    await answer.body?.cancel();
    // Without a key, it has the same access as everyone; invalid input is reported before anything runs.
    const open = await fetch(url, { method: method.toUpperCase() });
    await open.body?.cancel();
    if (open.status === 401 && ![400, 403].includes(answer.status)) wrong.push(`${method} ${path}: ${answer.status}`);
  }
  expect(wrong).toEqual([]);
  for (const path of ["/api/agents", "/api/keys", "/api/usage", "/metrics", "/plugins/any/route"])
    expect([path, (await mine.get(path)).status]).toEqual([path, 403]);
});

test("the same over gRPC and MCP", async () => {
  const rpc = (method: string, body: object) =>
    mine.post<{ code?: string }>(`/signalbox.api.v1.${method}`, body, { headers: { "connect-protocol-version": "1" } });
  expect((await rpc("AgentService/ListAgents", {})).body).toMatchObject({ code: "permission_denied" });
  expect((await rpc("TaskExecutionService/GetTaskExecution", { id: executions[1] })).body).toMatchObject({ code: "not_found" });
  expect((await rpc("TaskExecutionService/GetTaskExecution", { id: executions[0] })).status).toBe(200);
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "agents_list", arguments: {} } };
  const headers = { accept: "application/json, text/event-stream" };
  const { body } = await mine.post("/mcp", call, { headers });
  expect(JSON.stringify(body)).toContain("is restricted to the project ");
});

test("cannot be created for agents, or for projects that do not exist", async () => {
  const bad: [object, string][] = [
    [{ scopes: ["read"], projects: [999_999] }, "projects: there is no project 999999"],
    [{ scopes: ["read"], projects: [] }, "projects"],
    [{ scopes: ["agent"], projects: [projects[0]] }, "projects: a key with the scope agent cannot be restricted to projects"],
  ];
  for (const [body, text] of bad)
    expect(await create({ name: "bad", ...body })).toMatchObject({ status: 400, body: { error: expect.stringContaining(text) } });
  const two = await create({ name: "two", scopes: ["read"], projects });
  const both = jsonClient(world.service.url, two.body.key);
  expect((await both.get("/api/task-executions")).status).toBe(403);
  expect((await both.get(`/api/task-executions?project_id=${projects[1]}`)).status).toBe(200);
});

test("a key that only reads sees no keys in addresses of tools and MCP servers, over any transport", async () => {
  const key = "0123456789abcdef0123";
  const endpoint = `https://tools.invalid/hooks/${key}?key=${key}&a=b`;
  const masked = "https://tools.invalid/hooks/********?key=********&a=********";
  expect((await world.service.post("/api/tools", { provider: "hooks", name: "send", endpoint })).status).toBe(201);
  expect((await world.service.post("/api/mcp-servers", { name: "hooked", url: endpoint })).status).toBe(201);
  const made = await create({ name: "reader", scopes: ["read"] });
  const seen = async (client: JsonClient) => {
    const tools = (await client.get<{ name: string; endpoint: string }[]>("/api/tools?limit=1000")).body;
    const servers = (await client.get<{ url: string }[]>("/api/mcp-servers")).body;
    return [tools.find(({ name }) => name === "send")?.endpoint, servers[0]?.url];
  };
  const reader = jsonClient(world.service.url, made.body.key);
  expect([await seen(reader), await seen(world.service)]).toEqual([
    [masked, masked],
    [endpoint, endpoint],
  ]);
  const headers = { accept: "application/json, text/event-stream" };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "mcp_servers_list", arguments: {} } };
  const rest = [
    await reader.post("/signalbox.api.v1.ToolService/ListTools", { limit: 1000 }),
    await reader.post("/mcp", call, { headers }),
    await reader.get("/api/status"),
  ];
  expect(rest.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(JSON.stringify(rest)).not.toContain(key);
});

test("over native gRPC, no call but those of its project is permitted", async () => {
  const proto = readFileSync(join(root, "schema/gen/api.proto"), "utf8");
  const services = [...proto.matchAll(/^service (\w+) \{([^}]*)\}/gm)];
  const calls = services.flatMap(([, service, body = ""]) =>
    [...body.matchAll(/^ {2}rpc (\w+)\(/gm)].map(([, method]) => `/signalbox.api.v1.${service}/${method}`),
  );
  expect(calls.length).toBeGreaterThan(100);
  const gateway = ["RegisterAgent", "Heartbeat", "ReceiveTasks", "MemoryStore", "MemoryDelete"];
  const session = http2.connect(`http://127.0.0.1:${world.service.grpcPort}`);
  const ask = (path: string) =>
    new Promise<[path: string, code: number]>((done, fail) => {
      const asked = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
      const stream = session.request({ ...asked, authorization: `Bearer ${key}` });
      let code = "";
      for (const part of ["response", "trailers"] as const)
        stream.on(part, (headers: http2.IncomingHttpHeaders) => {
          code = String(headers["grpc-status"] ?? code);
        });
      stream.once("error", fail).once("close", () => done([path, Number(code)]));
      // One message without fields.
      stream.resume().end(Buffer.alloc(5));
    });
  try {
    const codes = await Promise.all([...calls, ...gateway.map((name) => `/signalbox.gateway.v1.AgentGateway/${name}`)].map(ask));
    const refused = [Code.PermissionDenied, Code.InvalidArgument, Code.Unauthenticated];
    const passed = codes.filter(([, code]) => !refused.includes(code)).map(([path]) => path.replace("/signalbox.api.v1.", ""));
    // If the call names no project, it applies to the key's own.
    expect(passed.sort()).toEqual([
      "PolicyService/GetPolicy",
      "TaskExecutionService/ListTaskExecutions",
      "TaskService/RestartTask",
    ]);
    expect(codes.filter(([, code]) => code === Code.PermissionDenied).length).toBeGreaterThan(30);
  } finally {
    session.destroy();
  }
});
