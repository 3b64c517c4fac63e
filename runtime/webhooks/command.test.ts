import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { firstIdOf, newId } from "../platform/ids.ts";
import { commandNames, commandOf, commandPlace, commandRefusal, readCommand } from "./command.ts";
import { openedEvent } from "./test-event.ts";

test("a command begins a comment, alone or with arguments on its line", () => {
  expect(readCommand("/stop")).toEqual({ name: "stop", rest: "" });
  expect(readCommand("  /Retry now please\nmore")).toEqual({ name: "retry", rest: "now please" });
  expect(readCommand("/reject the label\r\n")).toEqual({ name: "reject", rest: "the label" });
  expect(readCommand("/continue\n\nThank you.")).toEqual({ name: "continue", rest: "" });
  for (const text of ["", "stop", "please /stop", "/stopped", "/stop!", "//stop", "> /stop", "/close", null, undefined])
    expect(readCommand(text)).toBeNull();
});

test("property: any text is read without an error, and only names of commands are found", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.tuple(fc.constantFrom(...commandNames), fc.string()).map(([a, b]) => `/${a}${b}`),
      ),
      (text) => {
        const found = readCommand(text);
        if (found) expect(text.trim().toLowerCase().startsWith(`/${found.name}`)).toBe(true);
      },
    ),
  );
});

test("who may use commands", () => {
  const author = (standing: "collaborator" | "contributor" | "none" | "unknown", kind: "human" | "bot" = "human") =>
    ({ id: "1", name: "ann", kind, standing }) as const;
  expect(commandRefusal({ name: "stop", rest: "" }, author("unknown"))).toBeNull();
  expect(commandRefusal({ name: "stop", rest: "" }, null)).toBeNull();
  expect(commandRefusal({ name: "stop", rest: "" }, author("contributor"))).toMatch(/ann has the standing contributor/);
  expect(commandRefusal({ name: "approve", rest: "" }, author("unknown"))).toMatch(/the standing of ann is unknown/);
  expect(commandRefusal({ name: "approve", rest: "" }, author("collaborator"))).toBeNull();
  const event = { subject: { project: "a/b", issue: "1" }, comment_text: "/stop" } as never;
  expect(commandOf({ ...(event as object), author: author("none", "bot") } as never)).toBeNull();
  expect(commandOf(event)).toEqual({ name: "stop", rest: "" });
});

test("a command that was polled, or read later than it arrived, concerns what its author can have known; a /stop everything", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const before = (name: "approve" | "stop", more: object = {}) =>
    commandPlace({ ...openedEvent({ id: newId() }), ...more }, { name }).before;
  expect(before("approve")).toBeNull();
  expect(before("approve", { occurred_at: ago(90_000) })).toBeNull();
  expect(before("approve", { polled: true, occurred_at: ago(1_000) })).toBeNull();
  const isBefore = (limit: string | null, ms: number) =>
    expect(Math.abs(Date.parse(String(limit)) - Date.now() + ms)).toBeLessThan(5_000);
  isBefore(before("approve", { polled: true, occurred_at: ago(90_000) }), 80_000);
  isBefore(before("approve", { id: firstIdOf(Date.now() - 90_000) }), 80_000);
  isBefore(before("approve", { received_at: ago(30_000), id: firstIdOf(Date.now() - 30_000) }), 30_000);
  expect(before("stop", { polled: true, occurred_at: ago(90_000), id: firstIdOf(Date.now() - 90_000) })).toBeNull();
  isBefore(before("stop", { received_at: ago(30_000) }), 30_000);
});
