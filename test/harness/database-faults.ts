import type { FreshDatabase } from "./databases.ts";

// Changes that tests make directly in the database, and queries for facts that no operation shows. All SQL of the black-box tests
// is here, in blocked-statements.ts and in databases.ts.

/** Ends every connection to the database, like a restart of the server, and waits until the server has done so. */
export const endSessions = (database: FreshDatabase): Promise<unknown> =>
  database.query(
    "select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
  );

/** Changes the defaults of the database's new sessions, as its administrator may have done. */
export async function changeDefaults(database: FreshDatabase, settings: Readonly<Record<string, string>>): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(settings))
    await database.query(`alter database "${name}" set ${setting} = '${value}'`);
}

/**
 * While `meanwhile` runs, new rows of a table fail as if the disk of the server were full. `triedAt` returns when the first five
 * statements tried to store one, in milliseconds since 1970.
 */
export async function withoutRoom(
  database: FreshDatabase,
  table: "webhook_events" | "execution_steps",
  meanwhile: (triedAt: () => Promise<number[]>) => Promise<void>,
): Promise<void> {
  // Sequences keep their values when a statement fails.
  const sequences = ["tried", ...[1, 2, 3, 4, 5].map((n) => `tried_${n}`)];
  for (const sequence of sequences) await database.query(`create sequence ${sequence}`);
  await database.query(
    `create function no_room() returns trigger language plpgsql as $$
      declare n int := nextval('tried');
      begin
        if n <= 5 then perform setval('tried_' || n, (extract(epoch from clock_timestamp()) * 1000)::bigint); end if;
        raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
      end $$`,
  );
  await database.query(`create trigger no_room before insert on ${table} for each row execute function no_room()`);
  const triedAt = async () => {
    const rows = await database.query(
      "select last_value::float8 as at from pg_sequences where sequencename like 'tried\\__' order by sequencename",
    );
    return rows.flatMap(({ at }) => (at === null ? [] : [at as number]));
  };
  try {
    await meanwhile(triedAt);
  } finally {
    await database.query("drop function no_room cascade");
    await database.query(`drop sequence ${sequences.join(", ")}`);
  }
}

/**
 * While `meanwhile` runs, the texts of new executions on the issue with this number are compressed with an unknown dictionary.
 */
export async function withUnreadableText(database: FreshDatabase, issue: number, meanwhile: () => Promise<void>): Promise<void> {
  await database.query(
    `create function unreadable() returns trigger language plpgsql as
      $$ begin new.content := ''; new.packed_content := '\\x08ff'; return new; end $$`,
  );
  await database.query(
    `create trigger unreadable before insert on task_executions for each row when (new.issue = '${issue}') execute function unreadable()`,
  );
  try {
    await meanwhile();
  } finally {
    await database.query("drop function unreadable cascade");
  }
}

/** Damages the packed prompt of an execution. */
export const damagePrompt = (database: FreshDatabase, execution: string): Promise<unknown> =>
  database.query(
    `update execution_steps set packed = '\\x08ff', input = null where execution_id = '${execution}' and kind = 'prompt'`,
  );

/** Stores the answer of a succeeded execution as versions before 26 November 2026 did: only as its result. */
export async function storeAsBefore(
  database: FreshDatabase,
  execution: string,
  { result, output }: { result: string; output: object },
) {
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
  const changeStep = (kind: string, change: string) =>
    database.query(`update execution_steps set ${change} where execution_id = '${execution}' and kind = '${kind}' returning 1`);
  await database.query(
    `update task_executions set result = ${text(result)}, answer_step = null, packed_result = null where id = '${execution}'`,
  );
  const { content: _, ...rest } = output as { content?: unknown };
  const short = text(JSON.stringify({ ...rest, content_is_result: true }));
  const model = await changeStep("model", `packed_output = null, output = ${short}`);
  const post = await changeStep(
    "post",
    `input = input::jsonb - 'body_after_step' || jsonb_build_object('body_after_result', input -> 'body_after_step' ->> 1)`,
  );
  return model.length + post.length;
}

/** Quarantines all plugins, as versions before migration 167 did on a machine that could run none, and undoes that migration. */
export async function quarantineAsBefore(database: FreshDatabase): Promise<void> {
  await database.query("update plugins set quarantine_code = 'NO_SANDBOX', quarantine_reason = 'Deno was not found.'");
  await database.query("delete from migrations where id = 167");
}

/** While `meanwhile` runs, entries of the audit log about an object cannot be stored. */
export async function withoutEntriesOf(database: FreshDatabase, object: string, meanwhile: () => Promise<void>): Promise<void> {
  await database.query(
    `create function no_entry() returns trigger language plpgsql as $$ begin raise exception 'no entry'; end $$`,
  );
  await database.query(
    `create trigger no_entry before insert on audit_log for each row when (new.entry ->> 'object' = '${object}')
      execute function no_entry()`,
  );
  try {
    await meanwhile();
  } finally {
    await database.query("drop function no_entry cascade");
  }
}

/** Changes an entry of the audit log: its object becomes another. */
export const changeAuditEntry = (database: FreshDatabase, seq: number): Promise<unknown> =>
  database.query(`update audit_log set entry = jsonb_set(entry::jsonb, '{object}', '"agents/another"')::json where seq = ${seq}`);

/** Damages all stored texts that are packed; returns their columns, also those of a later version. */
export async function damagePackedTexts(database: FreshDatabase): Promise<string[]> {
  const columns = await database.query(
    `select table_name as of, column_name as name from information_schema.columns
      where table_schema = 'public' and (column_name like 'packed%' or (table_name = 'webhook_events' and column_name = 'body'))`,
  );
  for (const { of, name } of columns) await database.query(`update ${of} set ${name} = '\\x08ff' where get_byte(${name}, 0) < 9`);
  return columns.map(({ of, name }) => `${of}.${name}`);
}

/**
 * Copies the oldest event with its executions and their steps this many times, with any columns that this version's tables have,
 * to create a history.
 */
export async function multiplyHistory(database: FreshDatabase, times: number): Promise<void> {
  const copies = `generate_series(1, ${times}) n`;
  const oldest = "(select id from webhook_events order by id limit 1)";
  const id = (letter: string, more = "''") => `md5('${letter}' || n || ${more})::uuid`;
  const event = `jsonb_build_object('id', ${id("e")}, 'delivery_id', 'copy-' || n, 'change_key', null, 'subject', e.subject || n)`;
  await database.query(
    `insert into webhook_events select (jsonb_populate_record(e, ${event})).* from webhook_events e, ${copies} where e.id = ${oldest}`,
  );
  const run = `jsonb_build_object('id', ${id("x", "x.task_id")}, 'event_id', ${id("e")}, 'subject', x.subject || n)`;
  await database.query(
    `insert into task_executions select (jsonb_populate_record(x, ${run})).* from task_executions x, ${copies} where x.event_id = ${oldest}`,
  );
  const step = `jsonb_build_object('id', ${id("s", "s.id")}, 'execution_id', ${id("x", "x.task_id")})`;
  await database.query(
    `insert into execution_steps select (jsonb_populate_record(s, ${step})).* from execution_steps s
      join task_executions x on x.id = s.execution_id, ${copies} where x.event_id = ${oldest}`,
  );
}

const count = async (database: FreshDatabase, from: string): Promise<number> =>
  Number((await database.query(`select count(*)::int as n from ${from}`))[0]?.n);
/** Number of agents that are connected to any replica. */
export const connectedAgents = (database: FreshDatabase): Promise<number> => count(database, "agent_streams");
/** Number of executions that were passed to another agent after their first agent disconnected. */
export const handedOver = (database: FreshDatabase): Promise<number> => count(database, "task_executions where handovers > 1");
/** Number of executions with a counted worker crash. */
export const withDeaths = (database: FreshDatabase): Promise<number> => count(database, "task_executions where deaths > 0");
/** Number of sources that a replica polls right now. */
export const pollsUnderWay = (database: FreshDatabase): Promise<number> =>
  count(database, "poll_sources where lease is not null");

/** Resets all sources as if none had been polled, none was being polled, and all were due. */
export const makeAllPollsDue = (database: FreshDatabase): Promise<unknown> =>
  database.query("update poll_sources set last_polled_at = null, lease = null, lease_expires_at = null, next_poll_at = now()");

/** Takes an event's execution away from its worker without notifying it, as after a pause of the whole process. */
export async function releaseExecution(database: FreshDatabase, event: string): Promise<void> {
  await database.query(
    `update task_executions set state = 'queued', run_after = now(), lease = null, lease_expires_at = null where event_id = '${event}'`,
  );
  await database.query("select pg_notify('signalbox', 'test queue')");
}

/** An execution of an event, with its lease, for tests without a running service. */
export const storedExecution = async (database: FreshDatabase, event: string): Promise<Record<string, unknown> | undefined> =>
  (await database.query(`select state, attempts, lease from task_executions where event_id = '${event}'`))[0];
