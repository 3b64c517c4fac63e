/**
 * The whole path with n8n: a webhook starts a workflow of two HTTP requests, to the model and to the tracker. In its fastest
 * setting, it stores no execution and does not verify the signature. Started as `node n8n.mjs <folder with n8n> <model and
 * tracker> <database>`, prints its port.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [packages = "", side = "", database = ""] = process.argv.slice(2);
const program = createRequire(join(packages, "package.json")).resolve("n8n/bin/n8n");
const folder = mkdtempSync(join(tmpdir(), "signalbox-n8n-"));
const { hostname, port: databasePort, username, password, pathname } = new URL(database);

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
const [port, broker] = [await freePort(), await freePort()];

Object.assign(process.env, {
  N8N_USER_FOLDER: folder,
  N8N_PORT: String(port),
  N8N_LISTEN_ADDRESS: "127.0.0.1",
  N8N_RUNNERS_BROKER_PORT: String(broker),
  N8N_LOG_LEVEL: "error",
  N8N_DIAGNOSTICS_ENABLED: "false",
  N8N_VERSION_NOTIFICATIONS_ENABLED: "false",
  N8N_TEMPLATES_ENABLED: "false",
  DB_TYPE: "postgresdb",
  DB_POSTGRESDB_HOST: hostname,
  DB_POSTGRESDB_PORT: databasePort || "5432",
  DB_POSTGRESDB_USER: decodeURIComponent(username),
  DB_POSTGRESDB_PASSWORD: decodeURIComponent(password),
  DB_POSTGRESDB_DATABASE: pathname.slice(1),
  DB_POSTGRESDB_POOL_SIZE: "10",
  EXECUTIONS_DATA_SAVE_ON_SUCCESS: "none",
  EXECUTIONS_DATA_SAVE_ON_ERROR: "none",
});

const requestTo = (name, url, body, x) => ({
  id: name,
  name,
  type: "n8n-nodes-base.httpRequest",
  typeVersion: 4.2,
  position: [x, 0],
  parameters: { method: "POST", url, sendBody: true, specifyBody: "json", jsonBody: body, options: {} },
});
const event = "$('Webhook').item.json.body";
const then = (node) => ({ main: [[{ node, type: "main", index: 0 }]] });
const workflow = {
  id: "bench",
  name: "Bench",
  active: false,
  nodes: [
    {
      id: "webhook",
      name: "Webhook",
      type: "n8n-nodes-base.webhook",
      typeVersion: 2,
      position: [0, 0],
      webhookId: "bench",
      parameters: { httpMethod: "POST", path: "alpha", responseMode: "onReceived", options: {} },
    },
    requestTo(
      "Model",
      `${side}/v1/chat/completions`,
      "={{ JSON.stringify({ model: 'm', messages: [{ role: 'user', content: $json.body.issue.title + '\\n' + $json.body.issue.body }] }) }}",
      200,
    ),
    requestTo(
      "Comment",
      `=${side}/repos/{{ ${event}.repository.full_name }}/issues/{{ ${event}.issue.number }}/comments`,
      "={{ JSON.stringify({ body: $json.choices[0].message.content }) }}",
      400,
    ),
  ],
  connections: { Webhook: then("Model"), Model: then("Comment") },
  settings: { executionOrder: "v1" },
};

const file = join(folder, "workflow.json");
writeFileSync(file, JSON.stringify(workflow));
const cli = (...args) => execFileSync(process.execPath, [program, ...args], { stdio: ["ignore", 2, 2] });
cli("import:workflow", `--input=${file}`);
cli("publish:workflow", "--id=bench");

// It runs in this process, whose processor time is measured, but only its port may be printed.
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
process.argv = [process.execPath, program, "start"];
createRequire(import.meta.url)(program);
// It is ready before it has registered the workflow.
const body = JSON.stringify({ issue: { number: 1, title: "", body: "" }, repository: { full_name: "bench/start" } });
const headers = { "content-type": "application/json" };
const start = () => fetch(`http://127.0.0.1:${port}/webhook/alpha`, { method: "POST", headers, body });
while (
  !(await start().then(
    ({ ok }) => ok,
    () => false,
  ))
)
  await sleep(500);
print(`${port}\n`);
