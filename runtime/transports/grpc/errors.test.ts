import { Code } from "@connectrpc/connect";
import { problem } from "@signalbox/schema/problem";
import { expect, test } from "vitest";
import { DatabaseUnavailable } from "../../platform/database/unavailable.ts";
import { createLog } from "../../platform/log.ts";
import { toConnectError } from "./errors.ts";

test.each([
  [new DatabaseUnavailable("lost"), Code.Unavailable, "2", []],
  [Object.assign(new Error("no room"), { code: "53100" }), Code.Unavailable, "30", ["the database cannot store data"]],
  [problem("unavailable", "The memory store is down.", { retryAfter: 2 }), Code.Unavailable, "2", []],
  [problem("unavailable", "Nothing is configured."), Code.FailedPrecondition, null, []],
  [new Error("a defect"), Code.Internal, null, ["a gRPC call failed"]],
])("after %s, a caller learns from the status whether to repeat the call", (error, code, retryAfter, logged) => {
  const lines: string[] = [];
  const log = createLog({ pretty: false, write: (line) => lines.push(line) });
  const { signal } = new AbortController();
  const answer = toConnectError(error, { signal, log, operation: "gateway.complete-task" });
  expect([answer.code, answer.metadata.get("retry-after")]).toEqual([code, retryAfter]);
  expect(lines).toEqual(logged.map((message) => expect.stringContaining(message)));
});
