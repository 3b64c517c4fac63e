import { amountText } from "../platform/amount-text.ts";
import type { Queryable } from "../platform/database/client.ts";
import type { Command, CommandName, CommandPlace, Effect } from "../webhooks/command.ts";
import { decideAtIssue } from "./proposals/decide.ts";
import { cancelExecutions, countBeyond, findFailedOfSubject, releaseHeld, requeueFailed } from "./queries.ts";

type Carry = (tx: Queryable, place: CommandPlace, rest: string) => Promise<Effect>;

const count = (n: number): string => amountText(n, "execution");

/** The executions that a command leaves out, because another webhook started them. */
async function skipped(tx: Queryable, { subjects, reach }: CommandPlace, state: "failed" | "held" | "waiting"): Promise<string> {
  const left = reach === null ? 0 : await countBeyond(tx, subjects, reach, state);
  return left === 0 ? "" : `; skipped ${count(left)} that this webhook did not start`;
}

const stop: Carry = async (tx, { subjects, event_id, by, before }) => {
  const ended = await cancelExecutions(tx, { subjects, reach: null, before }, `stopped by ${by} (event ${event_id})`);
  const cancelled = ended.map(({ id }) => id);
  return { summary: `/stop by ${by}: ${count(ended.length)} cancelled`, cancelled, isDone: true, mayRepeat: false };
};

const retry: Carry = async (tx, place) => {
  const { by } = place;
  const left = await skipped(tx, place, "failed");
  const failed = await findFailedOfSubject(tx, place);
  const [restarted] = failed === undefined ? [] : await requeueFailed(tx, { ids: [failed] });
  const nothing = left === "" ? "nothing on this issue has failed" : "0 executions restarted";
  const what = restarted ? `restarted execution ${restarted.id}` : nothing;
  return {
    summary: `/retry by ${by}: ${what}${left}`,
    cancelled: [],
    isDone: restarted !== undefined,
    mayRepeat: restarted === undefined,
  };
};

const proceed: Carry = async (tx, place) => {
  const { by } = place;
  const releasedCount = await releaseHeld(tx, place);
  return {
    summary: `/continue by ${by}: ${count(releasedCount.length)} released${await skipped(tx, place, "held")}`,
    cancelled: [],
    isDone: releasedCount.length > 0,
    mayRepeat: releasedCount.length === 0,
  };
};

const decision =
  (verdict: "approve" | "reject"): Carry =>
  async (tx, place, reason) => {
    const { subjects, reach, before, by } = place;
    const executionIds = await decideAtIssue(tx, { subjects, reach, before, verdict, by, reason });
    const done = verdict === "approve" ? "approved" : "rejected";
    return {
      summary: `/${verdict} by ${by}: proposals of ${count(executionIds.length)} ${done}${await skipped(tx, place, "waiting")}`,
      cancelled: verdict === "reject" ? executionIds : [],
      isDone: executionIds.length > 0,
      // Its author saw only the proposals of that time.
      mayRepeat: false,
    };
  };

const handlers: Readonly<Record<CommandName, Carry>> = {
  stop,
  retry,
  continue: proceed,
  approve: decision("approve"),
  reject: decision("reject"),
};

/** Carries out a command in the transaction that stores its event, so that both happen exactly once or not at all. */
export const runCommand = (tx: Queryable, { name, rest }: Command, place: CommandPlace): Promise<Effect> =>
  handlers[name](tx, place, rest);
