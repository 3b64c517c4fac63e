import type { Project, UsageGroup } from "../../../../schema/gen/client.ts";
import { call, list } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { DayBars } from "../parts/day-bars.tsx";
import { Choice, Filters, foundIn } from "../parts/filters.tsx";
import { Empty, Page, QueryResult, Section } from "../parts/page.tsx";
import { Table } from "../parts/table.tsx";
import { Text } from "../parts/text.tsx";
import { amountText, countText, dollarText, durationText } from "../parts/time.tsx";
import { Link } from "../route/link.tsx";
import { query } from "../route/location.ts";
import { Budgets } from "./budgets.tsx";

const periods = [
  ["this-month", "this month"],
  ["last-month", "last month"],
  ["7", "the last 7 days"],
  ["30", "the last 30 days"],
  ["90", "the last 90 days"],
] as const;
const dayMs = 86_400_000;

/** A period in days in UTC, like the budgets. It begins at `from` and has `count` days; `to` is its end if it is over. */
function periodOf(name: string): { readonly from: string; readonly to: string | undefined; readonly count: number } {
  const now = new Date();
  const today = Math.floor(now.getTime() / dayMs);
  const monthAt = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1) / dayMs;
  const timeOf = (day: number) => new Date(day * dayMs).toISOString();
  if (name === "last-month") return { from: timeOf(monthAt(-1)), to: timeOf(monthAt(0)), count: monthAt(0) - monthAt(-1) };
  const first = name === "this-month" ? monthAt(0) : today - Number(name) + 1;
  return { from: timeOf(first), to: undefined, count: today - first + 1 };
}

const groups = ["agent", "project", "model", "task", "source"] as const;
type Group = (typeof groups)[number];

export function CostPage() {
  const { from, to, count } = periodOf(periods.find(([one]) => one === query.value.get("days"))?.[0] ?? "30");
  const by = groups.find((one) => one === query.value.get("by")) ?? "agent";
  const usage = useQuery(
    `cost ${from} ${to} ${by}`,
    async (signal) => {
      const [daily, grouped] = await Promise.all([
        call("usage.get", { from, to, group_by: "day" }, signal),
        call("usage.get", { from, to, group_by: by }, signal),
      ]);
      const rows = grouped.groups ?? [];
      const projects = await projectsOf(by === "project" ? rows : [], signal);
      return { total: daily, daily: daily.groups ?? [], grouped: rows, projects };
    },
    { keep: true },
  );
  return (
    <Page title="Cost">
      <Filters found={foundIn(usage, ({ total }) => `${amountText(total.runs ?? 0, ["run", "runs"])}, by ${by}`)}>
        <Choice name="days" label="Period" options={periods} empty="the last 30 days" />
        <Choice name="by" label="Group by" options={groups.map((one) => [one, one])} empty="agent" />
      </Filters>
      <QueryResult query={usage} lines={6}>
        {({ total, daily, grouped, projects }) =>
          (total.runs ?? 0) === 0 ? (
            <Empty title="Nothing ran in this period.">
              Choose a longer period, or see <Link to="now">Now</Link> for the steps to the first run.
            </Empty>
          ) : (
            <>
              <div class="numbers">
                <Figure value={dollarText(total.cost_usd)} label={total.cost_usd === null ? "cost (price unknown)" : "cost"} />
                <Figure value={countText(total.unpriced_tokens ?? 0)} label="tokens without a price" />
                <Figure value={countText(total.runs ?? 0)} label={`runs, ${countText(total.failed ?? 0)} failed`} />
                <Figure value={durationText(total.p50_duration_ms ?? null)} label="median duration" />
                <Figure value={durationText(total.p95_duration_ms ?? null)} label="95th percentile" />
              </div>
              <Section title="By day">
                <DayBars days={daily} from={from} count={count} />
              </Section>
              <Section title={`By ${by}`}>
                <Groups by={by} rows={grouped} projects={projects} />
              </Section>
            </>
          )
        }
      </QueryResult>
      <Budgets />
    </Page>
  );
}

/** The projects of these rows. The list is read up to the last one of them. */
async function projectsOf(rows: readonly UsageGroup[], signal: AbortSignal): Promise<Project[]> {
  const wanted = new Set(rows.flatMap(({ project_id }) => project_id ?? []));
  const found: Project[] = [];
  // Deleted projects are in the rows but not in the list.
  for (let offset = 0, total = 1; offset < total && found.length < wanted.size; offset += 1000) {
    const page = await list("projects.list", { limit: 1000, offset }, signal);
    found.push(...page.items.filter(({ id }) => wanted.has(id)));
    total = page.total;
  }
  return found;
}

function Figure({ value, label }: { value: string; label: string }) {
  return (
    <div>
      <strong>{value}</strong>
      <span>{label}</span>
    </div>
  );
}

const nameOf = (row: UsageGroup, by: Group): string =>
  String(
    { agent: row.agent_id, project: row.project_id, model: row.model, task: row.task_id, source: row.source }[by] ?? `no ${by}`,
  );

const ProjectName = ({ of }: { of: Project | undefined }) =>
  of ? (
    <>
      {" "}
      <span class="soft">
        <Text max={80}>{of.name}</Text>
      </span>
    </>
  ) : null;

const columns: readonly { readonly title: string; readonly text: (row: UsageGroup) => string }[] = [
  { title: "Cost", text: ({ cost_usd }) => dollarText(cost_usd) },
  { title: "Unpriced tokens", text: ({ unpriced_tokens }) => countText(unpriced_tokens) },
  { title: "Tokens", text: ({ tokens }) => countText(tokens.total) },
  { title: "Runs", text: ({ runs }) => countText(runs) },
  { title: "Failed", text: ({ failed }) => countText(failed) },
  { title: "Median", text: ({ p50_duration_ms }) => durationText(p50_duration_ms) },
];

interface GroupsProps {
  readonly by: Group;
  readonly rows: readonly UsageGroup[];
  readonly projects: readonly Project[];
}

function Groups({ by, rows, projects }: GroupsProps) {
  return (
    <Table
      label="Usage by group"
      columns={[by.charAt(0).toUpperCase() + by.slice(1)]}
      numbers={columns.map(({ title }) => title)}
    >
      {rows.map((row) => (
        <tr key={nameOf(row, by)}>
          <th scope="row">
            <Text>{nameOf(row, by)}</Text>
            <ProjectName of={projects.find(({ id }) => id === row.project_id)} />
          </th>
          {columns.map(({ title, text }) => (
            <td key={title} class="number" data-label={title}>
              {text(row)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}
