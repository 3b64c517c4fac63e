import { booleanArray, openDriver, type Sql } from "./driver.ts";

/** Creates the driver's query for the connection that executes it. */
export type Build = (driver: Sql) => PromiseLike<unknown>;
/** Executes a statement on a connection that it chooses. */
export type Run = (build: Build) => Promise<unknown>;

/**
 * A statement that is sent when it is first awaited, on a connection that is free at that time. If it is a part of another
 * statement, it is never sent by itself.
 */
class Statement implements PromiseLike<unknown> {
  readonly build: Build;
  readonly #run: Run;
  #result: Promise<unknown> | undefined;
  #simple = false;

  constructor(build: Build, run: Run) {
    this.build = build;
    this.#run = run;
  }

  /** Uses the simple protocol, which allows several statements in one text. */
  simple(): this {
    this.#simple = true;
    return this;
  }

  #send(): Promise<unknown> {
    const { build } = this;
    this.#result ??= this.#run(this.#simple ? (driver) => (build(driver) as ReturnType<Sql["unsafe"]>).simple() : build);
    return this.#result;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a statement is what sends it.
  then<A, B>(done?: ((value: unknown) => A | PromiseLike<A>) | null, failed?: ((error: unknown) => B | PromiseLike<B>) | null) {
    return this.#send().then(done, failed);
  }

  catch<B>(failed: (error: unknown) => B | PromiseLike<B>) {
    return this.#send().catch(failed);
  }

  finally(done: () => void) {
    return this.#send().finally(done);
  }
}

/** A driver that never connects. It escapes names and column lists, which are the same for every connection. */
const escapingDriver = openDriver({
  settings: {},
  socket: () => {
    throw new Error("this driver only builds parts of statements");
  },
  onClose: () => {},
});

/** The tagged template and `unsafe`, which execute statements with `run`, together with `members`. */
export function sqlOver(run: Run, members: object = {}): Sql {
  const sqlTag = (first: unknown, ...rest: unknown[]) => {
    if (!isTemplate(first)) return (escapingDriver as unknown as (...all: unknown[]) => unknown)(first, ...rest);
    return new Statement(
      rest.some(needsDriver)
        ? (driver) => driver(first, ...(rest.map((one) => builtFor(one, driver)) as never[]))
        : (driver) => driver(first, ...(rest as never[])),
      run,
    );
  };
  const unsafe = (text: string, parameters: never[] = [], options = {}) =>
    new Statement((driver) => driver.unsafe(text, parameters, options), run);
  return Object.assign(sqlTag, { unsafe, ...members }) as unknown as Sql;
}

const isTemplate = (value: unknown): value is TemplateStringsArray => Array.isArray(value) && "raw" in value;
const holdsStatement = (value: unknown): boolean =>
  value instanceof Statement || (Array.isArray(value) && value[0] instanceof Statement);

const isBooleans = (value: unknown): boolean => Array.isArray(value) && typeof value[0] === "boolean";
const needsDriver = (value: unknown): boolean => holdsStatement(value) || isBooleans(value);

function builtFor(value: unknown, driver: Sql): unknown {
  if (value instanceof Statement) return value.build(driver);
  if (isBooleans(value)) return driver.typed(value as never, booleanArray);
  return holdsStatement(value) ? (value as unknown[]).map((one) => builtFor(one, driver)) : value;
}
