import { list as listExecutions } from "@signalbox/schema/executions";
import type { Output } from "@signalbox/schema/operation";
import * as pauses from "@signalbox/schema/pauses";
import { storage as getStorage } from "@signalbox/schema/retention";
import { get as getStatus } from "@signalbox/schema/status";
import { get as getSubject, search as searchSubjects } from "@signalbox/schema/subjects";
import { get as getUsage } from "@signalbox/schema/usage";
import { UsageError } from "./arguments.ts";
import { type Command, type Given, usageOf } from "./command.ts";
import { asJson, tableOf, toSecond, withoutControlCharacters, wrapText } from "./output.ts";
import { ask, callerOf, namedServiceInTime } from "./request.ts";
import { refusalsOfLastDay, rowsIn, type Status, sizeOf, statusLines } from "./status-lines.ts";
import { storageText } from "./storage-text.ts";
import { follow } from "./tail.ts";
import type { Terminal } from "./terminal.ts";

/* The commands for the operator on call: each answers one question with a few requests, as text, or as JSON with `--json`. */

interface Question extends Given {
  /** The usage of the command without `--json`, for usage errors. */
  readonly usage: string;
}

export const operatorCommands: readonly Command[] = [
  answering("status", "", "Show whether everything works and, if not, what fails and since when.", status),
  answering("why", "<issue or URL>", "Show what happened for an issue, or why nothing happened.", why),
  answering("tail", "[<execution>]", "Follow an execution, or everything, as it happens.", tail),
  answering(
    "runs",
    "[--state <state>] [--subject <issue>] [--from <time>] [--to <time>] [--finished-from <time>] [--finished-to <time>] [--limit <number>]",
    "List the latest executions.",
    runs,
  ),
  answering("cost", "[--from <time>] [--to <time>] [--by <groups>]", "Show what runs cost, by month and project.", cost),
  answering("pause", "[all|project|agent|source] [<id>] --reason <text>", "Keep new executions from starting.", pause),
  answering("resume", "[all|project|agent|source] [<id>]", "Let executions start again.", resume),
  answering("storage", "", "Show what the database stores, and what retention will remove.", storage),
];

/** A command that answers as text, or as JSON with `--json`. Its options are those that `args` names. */
function answering(
  name: string,
  args: string,
  summary: string,
  run: (question: Question, terminal: Terminal) => Promise<number>,
): Command {
  const flags = ["json", ...[...args.matchAll(/--([a-z-]+)/g)].map(([, flag = ""]) => flag)];
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: flag === "json" ? "boolean" : "string" } as const]));
  const most = args.replace(/--[a-z-]+ <[^>]+>/g, "").match(/<|\[\w+\|/g)?.length ?? 0;
  return {
    name,
    args: `${args} [--json]`.trimStart(),
    summary,
    options,
    run: async (given, terminal, command) => {
      if (given.positionals.length > most)
        throw new UsageError(`unexpected argument ${JSON.stringify(given.positionals[most])}\n${usageOf(command)}`);
      return run({ ...given, usage: usageOf({ ...command, args }) }, terminal);
    },
  };
}

/** Prints JSON if it was requested, otherwise text. */
function print(terminal: Terminal, { flags }: Given, value: unknown, lines: () => string): number {
  terminal.out(flags.has("json") ? asJson(value) : withoutControlCharacters(lines()));
  return 0;
}

async function status(args: Question, terminal: Terminal): Promise<number> {
  const answer = await callerOf(namedServiceInTime())<Status>(getStatus);
  const lines = args.flags.has("json") ? [] : await statusLines(answer);
  print(terminal, args, answer, () => lines.map((line) => `${wrapText(line, terminal.columns, "  ")}\n`).join(""));
  return answer.state === "ok" ? 0 : 1;
}

/** Number of issues with the same name or number that `why` finds. */
const maxMatches = 10;

async function why(args: Question, terminal: Terminal): Promise<number> {
  const [q] = args.positionals;
  if (q === undefined) throw new UsageError(`missing issue, for example acme/webshop#42, CONF-7 or its URL\n${args.usage}`);
  const [found, ...others] = await ask<Output<typeof searchSubjects>["items"]>(searchSubjects, { q, limit: maxMatches });
  if (!found) {
    terminal.err(withoutControlCharacters(await unknownIssue(q, terminal.columns)));
    return 1;
  }
  const { source, project, issue } = found;
  if (others.length > 0) {
    const listed = others.map(({ subject }) => subject).join(", ");
    const more = others.length + 1 < maxMatches ? "" : ", and possibly more";
    const text = `Also found: ${listed}${more}. This is ${found.subject}, whose last event is the newest.`;
    terminal.err(`${withoutControlCharacters(wrapText(text, terminal.columns, "  "))}\n`);
  }
  const timeline = await ask<Output<typeof getSubject>>(getSubject, { source, project, issue });
  return print(terminal, args, timeline, () => {
    const lines = [...timeline.deliveries].reverse().flatMap(({ event, verdict, executions }) => {
      const name = [event.event_name, event.action].filter(Boolean).join("/");
      return [
        wrapText(`${toSecond(event.received_at)} ${name} by ${event.actor ?? "unknown"}: ${verdict}`, terminal.columns, "  "),
        ...executions.flatMap(({ id, task_id, verdict: became, result_url }) => [
          wrapText(`${task_id}: ${became}`, terminal.columns, "    ", "  "),
          ...(result_url ? [`    ${result_url}`] : []),
          `    execution ${id}`,
        ]),
      ];
    });
    const summary = wrapText(timeline.verdict, terminal.columns);
    return [[timeline.subject, timeline.title].filter(Boolean).join(": "), ...(lines.length > 0 ? lines : [summary]), ""].join(
      "\n",
    );
  });
}

const issueForms = "Name an issue as acme/webshop#42, as CONF-7 or by its URL. ";
/** Whether a text has the form of one issue: a number alone, or a word, can be a mistake for it. */
const isFullName = (q: string): boolean => /^\S+[#!]\d+$|^\S*[a-z]\w*-\d+$|^https?:\/\/./i.test(q);

/** If nothing is stored about an issue, its webhooks were most likely refused. */
async function unknownIssue(q: string, columns: number): Promise<string> {
  const groups = await refusalsOfLastDay();
  const lines = [...groups].map(([words, events]) => {
    const last = toSecond(events[0]?.received_at ?? "");
    return wrapText(`${sizeOf(events, rowsIn(groups))} × ${words} (the last at ${last})`, columns, "    ", "  ");
  });
  const none = "No webhook was refused in the last day either. Check the webhook's deliveries in the tracker.";
  const head = groups.size === 0 ? none : "Webhooks refused in the last day, possibly for this issue:";
  return [wrapText(`No stored event is about ${q}. ${isFullName(q) ? "" : issueForms}${head}`, columns), ...lines, ""].join("\n");
}

async function tail(args: Question, terminal: Terminal): Promise<number> {
  await follow(args.positionals[0], args.flags.has("json"), terminal);
  return 0;
}

async function runs(args: Question, terminal: Terminal): Promise<number> {
  const { state, subject, from, to, "finished-from": finished_from, "finished-to": finished_to, limit = "50" } = args.texts;
  const filter = { state, subject, from, to, finished_from, finished_to, limit };
  const rows = await ask<Output<typeof listExecutions>["items"]>(listExecutions, filter);
  if (rows.length === 0 && !args.flags.has("json")) terminal.err("No executions found.\n");
  return print(terminal, args, rows, () => {
    if (rows.length === 0) return "";
    const short = rows.map((row) => ({ ...row, created_at: toSecond(row.created_at) }));
    const table = tableOf(["created_at", "state", "task_id", "subject", "id"], short, terminal.columns).split("\n");
    const hasId = / ID$/.test(table[0] ?? "");
    const lines = rows.flatMap(({ id, error, waiting_for }, at) => {
      const details = [...(hasId ? [] : [id]), ...[waiting_for ?? error].filter(Boolean)].join(": ");
      return [table[at + 1], ...(details === "" ? [] : [wrapText(details, terminal.columns, "    ", "    ")])];
    });
    return [table[0], ...lines, ""].join("\n");
  });
}

async function cost(args: Question, terminal: Terminal): Promise<number> {
  const { from, to, by = "month,project" } = args.texts;
  const answer = await ask<Output<typeof getUsage>>(getUsage, { from, to, group_by: by });
  const rows = (answer.groups ?? []).map(({ tokens, ...group }) => ({ ...group, tokens: tokens.total }));
  const keys = ["day", "month", "project_id", "agent_id", "model", "task_id", "source"].filter((key) =>
    rows.some((row) => key in row),
  );
  const columns = [...keys, "runs", "failed", "tokens", "cost_usd", "unpriced_tokens"];
  const { unpriced_tokens: unpriced } = answer;
  const hint = unpriced ? `${unpriced} tokens have no price and are not in the cost. Set prices with MODEL_PRICES.\n` : "";
  const table = rows.length === 0 ? "No runs in this period.\n" : tableOf(columns, rows, terminal.columns);
  return print(terminal, args, answer, () => `${table}${hint}`);
}

async function pause(args: Question, terminal: Terminal): Promise<number> {
  const { reason } = args.texts;
  if (!reason) throw new UsageError(`missing --reason\n${args.usage}`);
  const paused = await ask<Scope>(pauses.create, { ...scopeOf(args), reason });
  const end = ["signalbox resume", ...(paused.scope === "all" ? [] : [nameOf(paused)])].join(" ");
  return print(terminal, args, paused, () => `Paused: ${nameOf(paused)}. Webhooks are still stored.\nTo end it, run: ${end}\n`);
}

async function resume(args: Question, terminal: Terminal): Promise<number> {
  const resumed = await ask<Scope>(pauses.remove, scopeOf(args));
  return print(terminal, args, resumed, () => `Resumed: ${nameOf(resumed)}.\n`);
}

async function storage(args: Question, terminal: Terminal): Promise<number> {
  const answer = await ask<Output<typeof getStorage>>(getStorage);
  return print(terminal, args, answer, () => storageText(answer, terminal.columns));
}

interface Scope {
  readonly scope: string;
  readonly id: string | null;
}

const nameOf = ({ scope, id }: Scope) => [scope, id].filter(Boolean).join(" ");
function scopeOf({ positionals: [scope = "all", id] }: Given): Record<string, string> {
  if (!["all", "project", "agent", "source"].includes(scope))
    throw new UsageError(`scope: must be all, project, agent or source; it is ${JSON.stringify(scope)}`);
  return { scope, ...(id !== undefined && { id }) };
}
