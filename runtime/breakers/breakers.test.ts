import { expect, test } from "vitest";
import { openBus } from "../platform/bus.ts";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import { Failure } from "../platform/retry.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { modelTarget, OutageError, openBreakers } from "./breakers.ts";

const database = useTestDatabase();
const target = modelTarget(true);
const { signal } = new AbortController();

const succeed = async () => "an answer";
const fail = async () => {
  throw new Failure("connect ECONNREFUSED", { retryable: true, unavailable: true });
};

test("which failures are an outage, although another execution's call succeeds meanwhile", { tags: ["postgres"] }, async () => {
  const { sql } = database();
  const bus = await openBus(database(), noLog);
  const options = { sql, bus, log: noLog, report: () => {}, delaySeconds: 60, holdAfterSeconds: 0 };
  const breakers = await openBreakers(options);
  /** Calls the model for one execution, or for the one that probes the breaker. */
  const callFor = (id: string, probes: string | null = null) => {
    const caller = { id, subject: `alpha:octo/app#${id}`, probes };
    return <T>(call: () => Promise<T>) => breakers.guard(caller, target, signal, call);
  };
  const [earlier, failing, probing] = [callFor(newId()), callFor(newId()), callFor(newId(), target.key)];

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

  breakers.close();
  bus.close();
});
