import { list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { Link } from "../route/link.tsx";
import { State } from "./badge.tsx";
import { QueryResult } from "./page.tsx";
import { SubjectLink } from "./subject.tsx";
import { Text } from "./text.tsx";
import { countText, Time } from "./time.tsx";

const maxShown = 10;

/** The runs whose prompt contained a memory. */
export function MemoryUses({ name }: { name: string }) {
  const uses = useQuery(`memory uses ${name}`, (signal) => list("memory.uses", { key: name, limit: maxShown }, signal));
  return (
    <div class="wide">
      <h2 class="minor">Where it is used</h2>
      <QueryResult query={uses} lines={2}>
        {({ items, total }) =>
          items.length === 0 ? (
            <p class="hint">No run has used this memory yet. Runs find memories that match their issue by keyword and meaning.</p>
          ) : (
            <>
              <ul class="list">
                {items.map(({ execution_id, task_id, subject, state, created_at }) => (
                  <li key={execution_id}>
                    <span class="main">
                      <Link to={`run/${execution_id}`}>
                        <Text>{task_id}</Text>
                      </Link>{" "}
                      {subject && <SubjectLink subject={subject} />}
                    </span>
                    <State of="run" state={state} />
                    <span class="side">
                      <Time at={created_at} />
                    </span>
                  </li>
                ))}
              </ul>
              {total > items.length && (
                <p class="hint">
                  The latest {maxShown} of {countText(total)} runs.
                </p>
              )}
            </>
          )
        }
      </QueryResult>
    </div>
  );
}
