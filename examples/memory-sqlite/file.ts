import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { PluginError } from "@signalbox/sdk";

const schema = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma busy_timeout = 1500;
  create table if not exists memories (
    number integer primary key,
    id text not null unique,
    key text not null unique,
    content text not null,
    scope text not null,
    agent_id text,
    project_id integer,
    task_id text,
    created_at text not null,
    updated_at text not null,
    expires_at integer,
    embedding blob
  ) strict;
  create index if not exists memories_created on memories (created_at desc, id desc);
  create index if not exists memories_agent on memories (agent_id);
  create index if not exists memories_project on memories (project_id);
  create index if not exists memories_expires on memories (expires_at) where expires_at is not null;
  create index if not exists memories_waiting on memories (created_at, id) where embedding is null;
  create virtual table if not exists words using fts5 (content, content = 'memories', content_rowid = 'number', tokenize = 'porter unicode61');
  create trigger if not exists memories_added after insert on memories begin
    insert into words (rowid, content) values (new.number, new.content);
  end;
  create trigger if not exists memories_removed after delete on memories begin
    insert into words (words, rowid, content) values ('delete', old.number, old.content);
  end;`;

/** A SQLite file. Throws `unavailable` if another process is writing or the disk is full. */
export interface File {
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
  /** Iterates over rows without loading all of them. */
  each<Row>(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  /** Returns how many rows changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** Runs a transaction that excludes other writers. */
  transaction<T>(work: () => T): T;
  close(): void;
}

export function openFile(path: string): File {
  const database = translateErrors(() => new DatabaseSync(path));
  translateErrors(() => database.exec(schema));
  const statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  return {
    // Rows have no prototype; the spread makes them ordinary objects.
    all: <Row>(sql: string, ...values: SQLInputValue[]) =>
      translateErrors(() => prepared(sql).all(...values)).map((row) => ({ ...row }) as Row),
    each: <Row>(sql: string, ...values: SQLInputValue[]) =>
      translateErrors(() => prepared(sql).iterate(...values)) as Iterable<Row>,
    run: (sql, ...values) => translateErrors(() => Number(prepared(sql).run(...values).changes)),
    transaction: (work) =>
      translateErrors(() => {
        database.exec("begin immediate");
        try {
          const result = work();
          database.exec("commit");
          return result;
        } catch (error) {
          database.exec("rollback");
          throw error;
        }
      }),
    close: () => database.close(),
  };
}

function translateErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw new PluginError("unavailable", `SQLite: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}
