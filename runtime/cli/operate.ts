import { parseArgs } from "node:util";
import type { Operation, Output } from "@signalbox/schema/operation";
import type { get as getStatus } from "@signalbox/schema/status";
import type { get as getSubject, search as searchSubjects } from "@signalbox/schema/subjects";
import type { get as getUsage } from "@signalbox/schema/usage";
import { declared } from "../declared.ts";
import { readClientConfig } from "../platform/config.ts";
import { UsageError } from "./arguments.ts";
import { asJson, tableOf, withoutControlCharacters } from "./output.ts";
import { request } from "./request.ts";
import type { Terminal } from "./run.ts";

/*
 * The commands of whoever is woken at night: each answers one question with one or two calls, as text, or as JSON with
 * `--json`.
 */

interface Command {
  readonly usage: string;
  readonly about: string;
  readonly run: (args: Arguments, terminal: Terminal) => Promise<number>;
}
interface Arguments {
  readonly positionals: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
}

export const operatorCommands: Readonly<Record<string, Command>> = {
  status: { usage: "status", about: "Whether all is well and, if not, what is wrong and since when", run: status },
  why: { usage: "why <issue or URL>", about: "What happened for an issue, or why nothing did", run: why },
  tail: { usage: "tail [<execution>]", about: "Follow an execution, or everything, as it happens", run: tail },
  runs: { usage: "runs [--state <state>] [--subject <issue>]", about: "The latest executions", run: runs },
  cost: { usage: "cost [--from <time>] [--to <time>] [--by <groups>]", about: "What runs cost, by month and project", run: cost },
  pause: { usage: "pause [all|project|agent|source] [<id>] --reason <text>", about: "Start no more executions", run: pause },
  resume: { usage: "resume [all|project|agent|source] [<id>]", about: "Start executions again", run: resume },
};

const text = { type: "string" } as const;
const options = { json: { type: "boolean" }, reason: text, state: text, subject: text, from: text, to: text, by: text } as const;

export async function runOperatorCommand(name: string, args: readonly string[], terminal: Terminal): Promise<number> {
  const command = operatorCommands[name] as Command;
  if (args.includes("--help") || args.includes("-h")) {
    terminal.out(`Usage: signalbox ${command.usage} [--json]\n\n${command.about}.\n`);
    return 0;
  }
  let parsed: Arguments;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true }) as Arguments;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message.split("\n")[0] : error}\nUsage: signalbox ${command.usage}`);
  }
  return command.run(parsed, terminal);
}

/** Asks the service for an operation, by its id. */
async function ask<T>(id: string, input: Record<string, unknown>, write: (text: string) => void = () => {}): Promise<T> {
  const op = declared().find((bound) => bound.op.id === id)?.op as Operation;
  const { SIGNALBOX_URL: url, SIGNALBOX_API_KEY: apiKey } = readClientConfig();
  return (await request(op, input, { url, apiKey }, write)).value as T;
}

/** Prints JSON where that was asked for, and the text otherwise. */
function print(terminal: Terminal, { values }: Arguments, value: unknown, lines: () => string): number {
  terminal.out(values.json ? asJson(value) : withoutControlCharacters(lines()));
  return 0;
}

async function status(args: Arguments, terminal: Terminal): Promise<number> {
  const answer = await ask<Output<typeof getStatus>>("status.get", {});
  const { state, checks, queue, paused, replicas, agents, version } = answer;
  print(terminal, args, answer, () => {
    const bad = checks.filter((check) => check.state !== "ok");
    const counts = queue
      ? `${queue.queued} queued, ${queue.running} running, ${queue.held} held, ${queue.waiting} waiting, ${queue.failed_last_hour} failed in the last hour`
      : "unknown";
    return [
      `Signalbox ${version}: ${state}`,
      `Queue: ${counts}`,
      `Replicas: ${replicas.map(({ host, role, running }) => `${host} (${role}, ${running} running)`).join(", ") || "none"}`,
      ...(agents.length > 0
        ? [`Connected agents: ${agents.map(({ agent_id, running }) => `${agent_id} (${running} running)`).join(", ")}`]
        : []),
      ...paused.map(
        ({ scope, id, reason, paused_at }) => `Paused: ${[scope, id].filter(Boolean).join(" ")} since ${paused_at}: ${reason}`,
      ),
      ...bad.map(({ name, state: how, since, message }) => `${how.toUpperCase()} ${name} since ${since}: ${message}`),
      bad.length === 0 ? `All ${checks.length} checks are ok.` : "",
      "",
    ].join("\n");
  });
  return state === "ok" ? 0 : 1;
}

async function why(args: Arguments, terminal: Terminal): Promise<number> {
  const [q] = args.positionals;
  if (q === undefined) throw new UsageError(`missing issue\nUsage: signalbox ${operatorCommands.why?.usage}`);
  const [found] = await ask<Output<typeof searchSubjects>["items"]>("subjects.search", { q, limit: 1 });
  if (!found) {
    terminal.err(`No stored event is about ${q}. GET /api/webhook-events?outcome=refused lists deliveries that were refused.\n`);
    return 1;
  }
  const { source, project, issue } = found;
  const timeline = await ask<Output<typeof getSubject>>("subjects.get", { source, project, issue });
  return print(terminal, args, timeline, () => {
    const deliveries = [...timeline.deliveries]
      .reverse()
      .flatMap(({ event, verdict, executions }) => [
        `${event.received_at}  ${[event.event_name, event.action].filter(Boolean).join("/")} by ${event.actor ?? "unknown"}: ${verdict}`,
        ...executions.map((run) => `    ${run.task_id}: ${run.verdict}${run.result_url ? ` ${run.result_url}` : ""} (${run.id})`),
      ]);
    return [`${timeline.subject}: ${timeline.verdict}`, ...deliveries, ""].join("\n");
  });
}

async function tail({ positionals: [id] }: Arguments, terminal: Terminal): Promise<number> {
  let rest = "";
  const write = (chunk: string) => {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data !== undefined) terminal.out(`${withoutControlCharacters(data)}\n`);
    }
  };
  await ask(id === undefined ? "events.follow" : "task-executions.events", id === undefined ? {} : { id }, write);
  return 0;
}

async function runs(args: Arguments, terminal: Terminal): Promise<number> {
  const { state, subject, from, to } = args.values;
  const rows = await ask<Record<string, unknown>[]>("task-executions.list", { state, subject, from, to, limit: 50 });
  const columns = ["created_at", "state", "task_id", "subject", "waiting_for", "error", "id"];
  return print(terminal, args, rows, () => tableOf(columns, rows, terminal.columns));
}

async function cost(args: Arguments, terminal: Terminal): Promise<number> {
  const { from, to, by = "month,project" } = args.values;
  const answer = await ask<Output<typeof getUsage>>("usage.get", { from, to, group_by: by });
  const rows = (answer.groups ?? []).map(({ tokens, ...group }) => ({ ...group, tokens: tokens.total }));
  const keys = ["day", "month", "project_id", "agent_id", "model", "task_id", "source"].filter((key) =>
    rows.some((row) => key in row),
  );
  const columns = [...keys, "runs", "failed", "tokens", "cost_usd", "unpriced_tokens"];
  return print(terminal, args, answer, () => tableOf(columns, rows, terminal.columns));
}

async function pause(args: Arguments, terminal: Terminal): Promise<number> {
  const { reason } = args.values;
  if (!reason) throw new UsageError(`missing --reason\nUsage: signalbox ${operatorCommands.pause?.usage}`);
  const paused = await ask<{ scope: string; id: string | null }>("pauses.pause", { ...scopeOf(args), reason });
  return print(terminal, args, paused, () => `Paused: ${nameOf(paused)}. Webhooks are still stored. signalbox resume ends it.\n`);
}

async function resume(args: Arguments, terminal: Terminal): Promise<number> {
  const resumed = await ask<{ scope: string; id: string | null }>("pauses.resume", scopeOf(args));
  return print(terminal, args, resumed, () => `Resumed: ${nameOf(resumed)}.\n`);
}

const nameOf = ({ scope, id }: { scope: string; id: string | null }) => [scope, id].filter(Boolean).join(" ");
function scopeOf({ positionals: [scope = "all", id] }: Arguments): Record<string, string> {
  if (!["all", "project", "agent", "source"].includes(scope))
    throw new UsageError(`unknown scope ${JSON.stringify(scope)}; expected all, project, agent or source`);
  return { scope, ...(id !== undefined && { id }) };
}
