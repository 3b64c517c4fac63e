import { useState } from "preact/hooks";
import type { MemoryListed } from "../../../../schema/gen/client.ts";
import { CallError, call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Choice, Filters, foundIn, Word } from "../parts/filters.tsx";
import { Field, Form, projectIdHint, SelectField, textOf } from "../parts/form.tsx";
import { MemoryUses } from "../parts/memory-uses.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { OffsetPager, offset } from "../parts/pager.tsx";
import { Block, Text } from "../parts/text.tsx";
import { amountText, Time } from "../parts/time.tsx";
import { query, setQuery } from "../route/location.ts";

const scopes = [
  ["organizational", "all agents"],
  ["project", "a project"],
  ["agent", "one agent"],
  ["task", "one run"],
] as const;
type Scope = (typeof scopes)[number][0];
type Found = Omit<MemoryListed, "updated_at"> & { readonly similarity?: number };

/** Number of memories on a page. */
const pageSize = 100;
/** Maximum number of memories that a search shows. */
const searchSize = 50;

export function MemoryPage() {
  const q = query.value.get("q") ?? "";
  const scope = (query.value.get("scope") ?? undefined) as Scope | undefined;
  const from = offset();
  const memories = useQuery(
    `memory ${q} ${scope} ${from}`,
    async (signal): Promise<{ readonly items: readonly Found[]; readonly total: number | null }> =>
      q
        ? { items: await call("memory.search", { query: q, scope, mode: "hybrid", limit: searchSize }, signal), total: null }
        : await list("memory.list", { limit: pageSize, offset: from, scope }, signal),
    { keep: true },
  );
  const items = memories.data?.items;
  const found = foundIn(memories, ({ items, total }) =>
    amountText(total ?? items.length, ["memory", "memories"], total === null && items.length === searchSize),
  );
  const linked = query.value.get("key");
  return (
    <Page title="Memory">
      <Filters found={found}>
        <Word name="q" label="Search by meaning and keyword" />
        <Choice name="scope" label="Visible to" options={scopes} />
      </Filters>
      {items && !q && linked && items.every(({ key }) => key !== linked) && (
        <LinkedMemory name={linked} reload={memories.reload} />
      )}
      <QueryResult query={memories} lines={6}>
        {({ items, total }) =>
          items.length === 0 ? (
            <>
              <Empty title={q || from > 0 ? "No memories match." : "No memories yet."}>
                Memories that match an issue are added to the agent's prompt. Connected agents store memories, and you can add one
                below.
              </Empty>
              {from > 0 && total !== null && <OffsetPager total={total} size={pageSize} />}
            </>
          ) : (
            <>
              <ul class="list">
                {items.map((memory) => (
                  <Item key={memory.key} memory={memory} reload={memories.reload} />
                ))}
              </ul>
              {total !== null && <OffsetPager total={total} size={pageSize} />}
              {total === null && items.length === searchSize && (
                <p class="soft">Only the best {searchSize} matches are shown. Search for more words to find others.</p>
              )}
            </>
          )
        }
      </QueryResult>
      <NewMemory reload={memories.reload} />
    </Page>
  );
}

/** The memory that the page's address names, if the list does not contain it. */
function LinkedMemory({ name, reload }: { name: string; reload: () => Promise<void> }) {
  const memory = useQuery(`linked memory ${name}`, async (signal) => {
    const found = await call("memory.get", { key: name }, signal).catch((error: unknown) => {
      if (error instanceof CallError && error.status === 404) return null;
      throw error;
    });
    return { found };
  });
  const reloadBoth = async () => void (await Promise.all([memory.reload(), reload()]));
  return (
    <QueryResult query={memory} lines={1}>
      {({ found }) => (
        <ul class="list">
          {found ? (
            <Item memory={found} reload={reloadBoth} />
          ) : (
            <li>
              <span class="main">
                There is no memory with the key <Text>{name}</Text>
                <span class="why">It expired or was deleted, or it is a part of a document.</span>
              </span>
              <button type="button" class="quiet" onClick={() => setQuery({ key: null })}>
                Close
              </button>
              <MemoryUses name={name} />
            </li>
          )}
        </ul>
      )}
    </QueryResult>
  );
}

function Item({ memory, reload }: { memory: Found; reload: () => Promise<void> }) {
  const open = query.value.get("key") === memory.key;
  const owner = memory.agent_id ?? (memory.project_id === null ? "" : `project ${memory.project_id}`);
  return (
    <li>
      <span class="main">
        <button
          type="button"
          class="quiet plain-name"
          aria-expanded={open}
          onClick={() => setQuery({ key: open ? null : memory.key })}
        >
          <Text>{memory.key}</Text>
        </button>
        {!open && (
          <span class="why">
            <Text max={160}>{memory.content}</Text>
          </span>
        )}
      </span>
      {memory.similarity !== undefined && <span class="side">{Math.round(memory.similarity * 100)} % match</span>}
      <span class="side">
        {scopes.find(([id]) => id === memory.scope)?.[1]} {owner}
      </span>
      <span class="side">
        <Time at={memory.created_at} />
      </span>
      {open && <Content memory={memory} reload={reload} />}
      {open && <MemoryUses name={memory.key} />}
    </li>
  );
}

/** The text of a memory. It cannot be changed: a memory is deleted, and another one stored. */
function Content({ memory, reload }: { memory: Found; reload: () => Promise<void> }) {
  const remove = async () => {
    await call("memory.delete", { key: memory.key });
    setQuery({ key: null });
    await reload();
  };
  return (
    <div class="wide">
      <Block text={memory.content} label="Memory" />
      {memory.scope !== "task" && (
        <ActionButton
          label="Delete"
          of={memory.key}
          kind="danger"
          needs="write"
          confirm={<p>Agents will no longer see this memory. It cannot be restored.</p>}
          run={remove}
        />
      )}
    </div>
  );
}

function NewMemory({ reload }: { reload: () => Promise<void> }) {
  const [scope, setScope] = useState("organizational");
  const create = async (values: FormData) => {
    const scope = textOf(values, "scope") as Scope;
    const owner = textOf(values, "owner");
    const key = textOf(values, "key");
    await call("memory.create", {
      key,
      content: textOf(values, "content"),
      scope,
      ...(scope === "agent" && { agent_id: owner }),
      ...(scope === "project" && { project_id: Number(owner) }),
    });
    await reload();
  };
  return (
    <Section title="New memory">
      <Form label="Store memory" run={create} done="Stored" needs="write">
        <Field name="key" label="Key" required placeholder="release-day" />
        <Field name="content" label="Content" required lines={3} />
        <SelectField name="scope" label="Visible to" options={scopes.slice(0, 3)} onChange={setScope} />
        {scope === "agent" && <Field name="owner" label="Agent id" required placeholder="pm_default" />}
        {scope === "project" && <Field name="owner" label="Project id" type="number" required hint={projectIdHint} />}
      </Form>
    </Section>
  );
}
