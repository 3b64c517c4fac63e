import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { postponeRow } from "../platform/lease-queries.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Loop } from "../platform/loop.ts";
import { writeOnce } from "../platform/remote-calls.ts";
import type { Connections } from "../plugins/connections.ts";
import { claimNotice, insertNotice, type Notice, noticeRows } from "./queries.ts";

/** An execution that is held. */
interface HeldWork {
  readonly id: string;
  readonly task_id: string;
  readonly agent_id: string | null;
  readonly subject: string | null;
  readonly source: string;
  readonly slug: string;
  readonly project_id: number | null;
  readonly project: string | null;
  readonly issue: string | null;
  readonly place: { readonly private: boolean; readonly thread: string | null } | null;
}

interface NoticeOptions {
  readonly sql: Sql;
  readonly log: Log;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
  readonly trackerUpdates: boolean;
  readonly leaseSeconds: number;
  readonly connectionFor: Connections["forExecution"];
}

interface Notices extends Loop {
  /** Notifies the people on an issue and the operator that work is held, once an hour per issue. Never throws. */
  notifyHeld(work: HeldWork, reason: string, until: string | null): Promise<void>;
}

/** Timeout of one call to a source. */
const callMs = 90_000;
const retryMs = 30_000;
const maxAttempts = 5;

/** Posts the notices, each once: before a notice is sent again, the platform is searched for it, as for an answer. */
export function startNotices(options: NoticeOptions): Notices {
  const { sql, log, warn, leaseSeconds } = options;
  const worker = startLeasedWork({
    name: "a notice",
    sql,
    rows: noticeRows,
    concurrency: 1,
    leaseSeconds,
    sweepMs: 15_000,
    log,
    claim: claimNotice,
    handle: (notice, signal) => post(notice, signal, options),
  });
  const notifyHeld = async (work: HeldWork, reason: string, until: string | null) => {
    const context = { execution_id: work.id, task_id: work.task_id, subject: work.subject, reason, held_until: until };
    const { subject, project, issue } = work;
    if (subject === null || project === null || issue === null) return warn("executions are held", context);
    const body = bodyOf(reason, until);
    const { source, slug, project_id, agent_id, place } = work;
    const at = { private: place?.private ?? false, thread: place?.thread ?? null };
    try {
      const notice = { ...at, id: newId(), subject, source, slug, project_id, agent_id, project, issue, body };
      if (!(await insertNotice(sql, notice))) return;
      warn("executions are held", context);
      worker.wake();
    } catch (error) {
      log.warn("failed to store a notice", { ...context, error });
    }
  };
  return { ...worker, notifyHeld };
}

/** Of the work with a notice, only that held by an outage has no time. */
const bodyOf = (reason: string, until: string | null): string =>
  `Work on this issue is paused: ${reason}. ${until === null ? "It waits until the outage ends or it is released" : `It continues at ${new Date(until).toISOString().slice(0, 16).replace("T", " ")} UTC`}. Comment \`/continue\` to release it now.`;

async function post(notice: Notice, signal: AbortSignal, options: NoticeOptions): Promise<void> {
  const { sql, log } = options;
  const { project, issue, body, thread } = notice;
  try {
    const connection = await options.connectionFor(notice.source, notice, notice.agent_id);
    if (connection && connection.missingSettings.length === 0 && options.trackerUpdates) {
      const { adapter: source } = connection.source;
      const text = { subject: { project, issue }, body, ...(notice.private && { private: true }), ...(thread && { thread }) };
      const key = `${notice.id}.0`;
      const call = () => ({
        signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
        connection: connection.settings,
        key,
      });
      await writeOnce(
        () => source.find(text, call()),
        () => source.deliver(text, call()),
        signal,
        notice.attempts > 1,
      );
    }
    await postponeRow(sql, noticeRows, notice, null);
  } catch (error) {
    log.warn("failed to post a notice", { subject: notice.subject, error });
    const again = notice.attempts < maxAttempts || signal.aborted;
    await postponeRow(sql, noticeRows, notice, again ? retryMs : null).catch((second) =>
      log.warn("failed to postpone a notice", { error: second }),
    );
  }
}
