import type { Proposal, TaskExecutionWithTranscript } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { State } from "../parts/badge.tsx";
import { ActionButton } from "../parts/dialog.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { Section } from "../parts/page.tsx";
import { asText, Block, nameIn, Text } from "../parts/text.tsx";
import { Time } from "../parts/time.tsx";
import { External } from "../route/link.tsx";

interface ProposalsProps {
  readonly run: TaskExecutionWithTranscript;
  readonly reload: () => Promise<void>;
}

/** The writes that the agent proposes, in order, with the decision about each. */
export function Proposals({ run: { id, proposals }, reload }: ProposalsProps) {
  if (proposals.length === 0) return null;
  const open = proposals.filter(({ state, decided_at }) => state === "proposed" && decided_at === null);
  const approve = async (proposalIds?: string[]) => {
    await call("task-executions.approve", proposalIds ? { id, proposals: proposalIds } : { id });
    await reload();
  };
  const reject = async () => {
    await call("task-executions.reject", { id });
    await reload();
  };
  const decide = open.length > 0 && (
    <div class="buttons">
      <ActionButton
        label={open.length === 1 ? "Approve" : `Approve all ${open.length}`}
        kind="primary"
        needs="write"
        confirm={<p>Signalbox writes the proposals to the tracker in this order, each once. This cannot be undone.</p>}
        run={() => approve()}
      />
      <ActionButton
        label="Reject"
        kind="danger"
        needs="write"
        confirm={<p>The proposals are discarded, and the run is cancelled. To do the work again, replay its delivery.</p>}
        run={reject}
      />
    </div>
  );
  return (
    <Section title="Proposals" aside={decide}>
      <ul class="list">
        {proposals.map((one) => (
          <Proposed key={one.id} proposal={one} />
        ))}
      </ul>
    </Section>
  );
}

function Proposed({ proposal }: { proposal: Proposal }) {
  const { tool, target, body, parameters, state, error, url, decided_by, decided_at, expires_at } = proposal;
  return (
    <li>
      <State of="proposal" state={state} />
      <span class="main">
        <strong>{tool ?? "Comment"}</strong>{" "}
        {target && (
          <span class="soft">
            on <Text>{target}</Text>
          </span>
        )}
        {error && (
          <span class="why bad">
            <Text max={500}>{error}</Text>
          </span>
        )}
      </span>
      <span class="side">
        {decided_at ? (
          <>
            decided by <Text>{decided_by ?? "the service"}</Text> <Time at={decided_at} />
          </>
        ) : (
          expires_at && (
            <>
              expires <Time at={expires_at} />
            </>
          )
        )}
      </span>
      {url && (
        <External url={url} name={nameIn("Open", [tool ?? "Comment", target && `on ${target}`].filter(Boolean).join(" "))}>
          Open
        </External>
      )}
      <div class="wide">
        {body === null ? <Block text={asText(parameters)} label="Parameters" /> : <Markdown text={body} label="Proposed text" />}
      </div>
    </li>
  );
}
