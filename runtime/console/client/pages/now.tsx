import type { ComponentChildren } from "preact";
import type { Status } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { stateText } from "../part-words.ts";
import { Badge, State } from "../parts/badge.tsx";
import { Page, QueryResult, Section } from "../parts/page.tsx";
import { RunList } from "../parts/run-list.tsx";
import { Text } from "../parts/text.tsx";
import { countText, durationText, Since, Time } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { Failures, useFailures } from "./failures.tsx";
import { FirstSteps, useFirstSteps } from "./first-steps.tsx";
import { PauseBanner, PauseButton } from "./pause.tsx";

export function NowPage() {
  const status = useQuery("status", (signal) => call("status.get", {}, signal));
  const steps = useFirstSteps();
  const waitingRuns = useRuns("waiting");
  const heldRuns = useRuns("held");
  const runningRuns = useRuns("running");
  const failedRuns = useFailures();
  const latestRuns = useQuery("now latest", (signal) => list("task-executions.list", { limit: 8 }, signal));
  return (
    <Page title="Now" actions={<PauseButton reload={status.reload} />}>
      <FirstSteps steps={steps} />
      <QueryResult query={status}>
        {(data) => (
          <>
            <PauseBanner pauses={data.paused} reload={status.reload} />
            <Health status={data} />
            <Queue status={data} />
          </>
        )}
      </QueryResult>
      <Runs title="Waiting for you" runs={waitingRuns} />
      <Runs title="Held by a limit" runs={heldRuns} />
      <Runs title="Running" runs={runningRuns} empty="Nothing is running." />
      <Failures failed={failedRuns} />
      <Runs title="Latest runs" runs={latestRuns} aside={<Link to="runs">All runs</Link>} />
      {status.data && <Replicas replicas={status.data.replicas} />}
    </Page>
  );
}

const useRuns = (state: "running" | "waiting" | "held") =>
  useQuery(`now ${state}`, (signal) => list("task-executions.list", { state, limit: 10 }, signal));

/** The state in one sentence, and each check that has a problem. */
function Health({ status }: { status: Status }) {
  const { sentence, next } = stateText("service", status.state);
  const problems = status.checks.filter(({ state }) => state !== "ok");
  const okChecks = status.checks.filter(({ state }) => state === "ok");
  const paused = pausedSentence(status, problems.length);
  return (
    <div class="card verdict">
      <p>
        <span role="status">
          <State of="service" state={status.state} /> {paused ?? sentence}
        </span>{" "}
        <span class="soft">{problems.length > 0 && next}</span>
      </p>
      <Checks checks={problems} />
      {okChecks.length > 0 && (
        <details>
          <summary>{okChecks.length === 1 ? "1 check is ok" : `${okChecks.length} checks are ok`}</summary>
          <Checks checks={okChecks} />
        </details>
      )}
    </div>
  );
}

/** A pause is the operator's own doing, so it is not shown as a failure. */
function pausedSentence({ state, paused }: Status, problems: number): string | null {
  if (paused.some(({ scope }) => scope === "all")) return "Everything is paused. Webhooks are stored, but no runs start.";
  return state === "degraded" && problems === 0 ? "The service is working, but part of it is paused." : null;
}

function Checks({ checks }: { checks: Status["checks"] }) {
  if (checks.length === 0) return null;
  return (
    <ul class="plain checks">
      {checks.map(({ name, state, message, since, next_try_at }) => (
        <li key={name}>
          <State of="check" state={state} />{" "}
          <strong title={name}>
            <Text>{checkLabel(name)}</Text>
          </strong>{" "}
          <span>
            <Text max={600}>{message}</Text>
          </span>{" "}
          <span class="soft small-text">
            for <Since at={since} />
            {next_try_at && (
              <>
                , next try <Time at={next_try_at} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** `connection:Web team bot (its id)` in words; the pointer gets the whole name. */
const checkLabel = (name: string): string => name.replace(/ \([0-9a-f-]{36}\)$/, "").replace(/^([\w-]+):/, "$1 ");

const hourMs = 3_600_000;

function Queue({ status: { queue, timestamp } }: { status: Status }) {
  if (queue === null) return null;
  const oldest = queue.oldest_queued_seconds;
  const wait = oldest === null ? "" : `, oldest for ${durationText(oldest * 1000)}`;
  const finished_from = new Date(Date.parse(timestamp) - hourMs).toISOString();
  const labels = [
    [{ state: "running" }, queue.running, "running"],
    [{ state: "queued" }, queue.queued, `queued${wait}`],
    [{ state: "held" }, queue.held, "held"],
    [{ state: "waiting" }, queue.waiting, "waiting for a decision"],
    [{ state: "failed", finished_from }, queue.failed_last_hour, "failed in the last hour"],
  ] as const;
  return (
    <div class="numbers">
      {labels.map(([filter, count, label]) => (
        <Link key={filter.state} to="runs" query={filter}>
          <strong>{countText(count)}</strong>
          <span>{label}</span>
        </Link>
      ))}
    </div>
  );
}

interface RunsProps {
  readonly title: string;
  readonly runs: ReturnType<typeof useRuns>;
  /** Shown if the list is empty; if absent, the section is hidden. */
  readonly empty?: string;
  readonly aside?: ComponentChildren;
}

function Runs({ title, runs, empty, aside }: RunsProps) {
  if (!empty && !runs.data?.items.length) return null;
  return (
    <Section title={title} aside={aside}>
      <QueryResult query={runs} lines={1}>
        {({ items }) => (items.length > 0 ? <RunList runs={items} /> : <p class="soft">{empty}</p>)}
      </QueryResult>
    </Section>
  );
}

function Replicas({ replicas }: { replicas: Status["replicas"] }) {
  if (replicas.length < 2) return null;
  return (
    <Section title="Replicas">
      <ul class="list">
        {replicas.map(({ id, host, role, version, running, seen_at, silent_seconds }) => (
          <li key={id}>
            <span class="main">
              <Text>{host}</Text> <span class="soft">{role}</span>
            </span>
            <span class="side">{silent_seconds === null ? `${running} running` : <Badge tone="bad">silent</Badge>}</span>
            <span class="side">{version}</span>
            <span class="side">
              seen <Time at={seen_at} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
