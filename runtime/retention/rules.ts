/** Days after which each kind of data is removed; 0: never. */
export interface RetentionDays {
  readonly RETENTION_EVENT_DAYS: number;
  readonly RETENTION_DISCARDED_DAYS: number;
  readonly RETENTION_TRANSCRIPT_DAYS: number;
  readonly RETENTION_HISTORY_DAYS: number;
  readonly RETENTION_AUDIT_DAYS: number;
}

const watchdogDays = 30;
/** Maximum number of watchdog entries, whatever their age. */
export const watchdogRows = 10_000;

/** For each rule, the time before which its data is removed, in milliseconds; 0 if none is. */
export function cutoffs(days: RetentionDays, now: number) {
  const cutoff = (count: number) => (count === 0 ? 0 : now - count * 86_400_000);
  return {
    bodies: cutoff(days.RETENTION_EVENT_DAYS),
    discarded: cutoff(days.RETENTION_DISCARDED_DAYS),
    refused: cutoff(days.RETENTION_DISCARDED_DAYS),
    transcripts: cutoff(days.RETENTION_TRANSCRIPT_DAYS),
    history: cutoff(days.RETENTION_HISTORY_DAYS),
    audit: cutoff(days.RETENTION_AUDIT_DAYS),
    watchdog: cutoff(watchdogDays),
  };
}

/** The rules in the format of `GET /api/storage`. */
export const rulesOf = (days: RetentionDays) =>
  [
    { key: "bodies", what: "payloads and headers of events", setting: "RETENTION_EVENT_DAYS", days: days.RETENTION_EVENT_DAYS },
    {
      key: "discarded",
      what: "payloads and headers of discarded events",
      setting: "RETENTION_DISCARDED_DAYS",
      days: days.RETENTION_DISCARDED_DAYS,
    },
    {
      key: "refused",
      what: "refused deliveries",
      setting: "RETENTION_DISCARDED_DAYS",
      days: days.RETENTION_DISCARDED_DAYS,
    },
    {
      key: "transcripts",
      what: "transcripts and results of executions",
      setting: "RETENTION_TRANSCRIPT_DAYS",
      days: days.RETENTION_TRANSCRIPT_DAYS,
    },
    { key: "history", what: "events and executions", setting: "RETENTION_HISTORY_DAYS", days: days.RETENTION_HISTORY_DAYS },
    { key: "audit", what: "entries of the audit log", setting: "RETENTION_AUDIT_DAYS", days: days.RETENTION_AUDIT_DAYS },
    { key: "watchdog", what: "watchdog entries", setting: null, days: watchdogDays },
  ] as const;
