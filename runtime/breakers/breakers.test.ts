import { expect, test } from "vitest";
import { openBus } from "../platform/bus.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { Failure, retry } from "../platform/retry.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { modelTarget, OutageError, openBreakers } from "./breakers.ts";

const database = useTestDatabase();
const target = modelTarget(true);
const { signal } = new AbortController();

const succeed = async () => "an answer";
const fail = async () => {
  throw new Failure("connect ECONNREFUSED", { retryable: true, unavailable: true, retryAfterMs: 1 });
};

async function openForTest() {
  const { sql } = database();
  const bus = await openBus(database(), noLog);
  const options = { sql, bus, log: noLog, report: () => {}, delaySeconds: 60, holdAfterSeconds: 0 };
  const breakers = await openBreakers(options);
  /** Calls the model for one execution, or for the one that probes the breaker. */
  const callFor = (id: string, probes: string | null = null) => {
    const caller = { id, subject: `alpha:octo/app#${id}`, probes };
    return <T>(call: () => Promise<T>) => breakers.guard(caller, target, signal, call);
  };
  const close = () => {
    breakers.close();
    bus.close();
  };
  return { breakers, callFor, [Symbol.dispose]: close };
}

test("which failures are an outage, although another execution's call succeeds meanwhile", { tags: ["postgres"] }, async () => {
  using opened = await openForTest();
  const { breakers, callFor } = opened;
  const id = newId();
  const [earlier, failing, probing] = [callFor(newId()), callFor(id), callFor(newId(), target.key)];

  const answer = Promise.withResolvers<string>();
  const slow = earlier(() => answer.promise);
  await expect(failing(fail)).rejects.toBeInstanceOf(OutageError);
  // It was accepted before the outage.
  answer.resolve("an answer");
  await slow;
  await expect(failing(fail)).rejects.toBeInstanceOf(OutageError);

  // The model accepts requests again, except this one.
  await probing(succeed);
  await expect(failing(fail)).rejects.toBeInstanceOf(Failure);

  // A person restarts the execution when the model is unavailable again.
  breakers.executionFailed({ id });
  await expect(failing(fail)).rejects.toBeInstanceOf(OutageError);
  await probing(succeed);
});

test("an answer that arrives during a call that fails", { tags: ["postgres"] }, async () => {
  using opened = await openForTest();
  const { callFor } = opened;
  const [earlier, other, failing, probing] = [callFor(newId()), callFor(newId()), callFor(newId()), callFor(newId(), target.key)];

  // The model accepted one request before the failing one, and one after it. Then it became unavailable.
  const answer = Promise.withResolvers<string>();
  const slow = earlier(() => answer.promise);
  const failAfterAnswers = async () => {
    await other(succeed);
    return retry(async (attempt) => {
      if (attempt === 2) {
        answer.resolve("an answer");
        await slow;
      }
      return fail();
    }, signal);
  };
  await expect(failing(failAfterAnswers)).rejects.toBeInstanceOf(OutageError);
  await probing(succeed);

  // The model accepts another request between two tries.
  const failBetweenAnswers = () =>
    retry(async (attempt) => {
      if (attempt === 2) await other(succeed);
      return fail();
    }, signal);
  await expect(callFor(newId())(failBetweenAnswers)).rejects.toBeInstanceOf(Failure);
});

test("failures that the request itself may have caused are an outage, although an earlier request is answered between them", {
  tags: ["postgres"],
}, async () => {
  using opened = await openForTest();
  const { callFor } = opened;
  const fail500 = async () => {
    throw new Failure("500", { retryable: true, unavailable: true, status: 500 });
  };
  const answer = Promise.withResolvers<string>();
  const slow = callFor(newId())(() => answer.promise);
  await expect(callFor(newId())(fail500)).rejects.toBeInstanceOf(Failure);
  answer.resolve("an answer");
  await slow;
  await expect(callFor(newId())(fail500)).rejects.toBeInstanceOf(OutageError);
  await callFor(newId(), target.key)(succeed);
});
