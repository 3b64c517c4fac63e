import type { ComponentChildren } from "preact";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Badge } from "../parts/badge.tsx";
import { Section } from "../parts/page.tsx";
import { Link } from "../route/link.tsx";
import { SeedAgents } from "./agents.tsx";
import { SendTestEvent } from "./test-event.tsx";

const trackers = ["alpha", "beta", "gamma", "delta"] as const;

/** The way to the first comment, until there is one. */
export function FirstSteps() {
  const steps = useQuery("first steps", async (signal) => {
    const done = await list("task-executions.list", { state: "succeeded", limit: 1 }, signal);
    if (done.total > 0) return null;
    const [agents, triggers, events, ...tests] = await Promise.all([
      list("agents.list", { limit: 1 }, signal),
      list("triggers.list", { limit: 1 }, signal),
      list("webhook-events.list", { limit: 1 }, signal),
      ...trackers.map((source) => call("integrations.test", { source }, signal).catch(() => null)),
    ]);
    const connected = trackers.filter((_, index) => tests[index]?.status === "ok");
    return { agents: agents.total > 0 && triggers.total > 0, connected, event: events.items[0] ?? null };
  });
  const { data } = steps;
  if (!data) return null;
  const { connected, agents, event } = data;
  return (
    <Section title="First steps">
      <ol class="list">
        <Step done={connected.length > 0} title="Connect a tracker">
          {connected.length > 0 ? `${connected.join(", ")} answers.` : "An account of its own, with a token and a webhook. "}
          {connected.length === 0 && <Link to="connections">Connections</Link>}
        </Step>
        <Step done={null} title="Connect a model">
          Any OpenAI-compatible API. <Link to="connections">Test it under Connections</Link>
        </Step>
        <Step done={agents} title="Create agents and tasks" action={agents ? null : <SeedAgents reload={steps.reload} />}>
          Five agents and nine tasks to begin with; change them as you like.
        </Step>
        <Step done={event !== null} title="Send an event" action={<SendTestEvent />}>
          {event ? (
            <Link to={`delivery/${event.id}`}>See what was decided about the latest one</Link>
          ) : (
            "Open an issue at the tracker, or send a test event from here."
          )}
        </Step>
        <Step done={false} title="See it run">
          The run appears below, and its answer as a comment at the tracker. <Link to="issues">Issues</Link>
        </Step>
      </ol>
    </Section>
  );
}

interface StepProps {
  /** null: not known. */
  readonly done: boolean | null;
  readonly title: string;
  readonly action?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Step({ done, title, action, children }: StepProps) {
  return (
    <li>
      <Badge tone={done ? "good" : "idle"}>{done ? "done" : done === null ? "check" : "to do"}</Badge>
      <span class="main">
        <strong>{title}</strong>
        <span class="why">{children}</span>
      </span>
      {action}
    </li>
  );
}
