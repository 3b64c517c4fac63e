import { describe, expect, test } from "vitest";
import { files, isGenerated } from "./architecture/tree.ts";
import { allMessages, commentsOf, messagesOf } from "./messages.ts";
import { faultsOf, stillAllowed } from "./wording.ts";

const faults = allMessages().flatMap(({ place, text }) => faultsOf(text).map((fault) => ({ place, fault, text: text.trim() })));
const fileOf = (place: string) => place.slice(0, place.lastIndexOf(":"));

describe("what users read", () => {
  test("has none of the banned phrasings", () => {
    const bad = faults.filter(({ place }) => !Object.hasOwn(stillAllowed, fileOf(place)));
    expect(bad.map(({ place, fault, text }) => `${place} ${fault}: ${text}`)).toEqual([]);
  });
  test("comments in code and tests contain none either", () => {
    const all = files.filter((path) => /\.tsx?$/.test(path) && !isGenerated(path)).flatMap(commentsOf);
    expect(all.length).toBeGreaterThan(2000);
    const bad = all.flatMap(({ place, text }) => faultsOf(text).map((fault) => `${place} ${fault}: ${text.trim()}`));
    expect(bad).toEqual([]);
  });
  test("listed files have no more than listed, and clean files leave the list", () => {
    const counts = Object.fromEntries(
      [...Map.groupBy(faults, ({ place }) => fileOf(place))].map(([path, all]) => [path, all.length]),
    );
    const wrong = Object.entries(stillAllowed).filter(([path, most]) => !counts[path] || counts[path] > most);
    expect(wrong.map(([path]) => `${path}: ${counts[path] ?? 0} of ${stillAllowed[path]}`)).toEqual([]);
  });
  test("is collected from all of the code", () => {
    const kinds = Map.groupBy(allMessages(), ({ kind }) => kind);
    for (const kind of ["error", "log", "description", "text", "page"] as const)
      expect(kinds.get(kind)?.length, kind).toBeGreaterThan(40);
  });
});

describe("the collector sees", () => {
  const read = (code: string) => messagesOf("a.ts", code).map(({ kind, text, place }) => [place, kind, text]);
  test("errors, logs, descriptions and composed texts", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how a message with a gap is shown
    expect(read("throw new Error(`no task $" + "{id} here`);")).toEqual([["a.ts:1", "error", "no task ${…} here"]]);
    expect(read('\nproblem("already_exists", "the key is " + "taken already");')).toEqual([
      ["a.ts:2", "error", "the key is taken already"],
    ]);
    expect(read('log.warn("replica was stopped", {});')).toEqual([["a.ts:1", "log", "replica was stopped"]]);
    expect(read('z.string().describe("Name of the task.")')).toEqual([["a.ts:1", "description", "Name of the task."]]);
    expect(read('const usage = "signalbox keys list";')).toEqual([["a.ts:1", "text", "signalbox keys list"]]);
  });
  test("no SQL, no imports and no names", () => {
    expect(read('import a from "two words"; sql`select this from that`; const b = "select a from b"; const c = "one";')).toEqual(
      [],
    );
  });
});
