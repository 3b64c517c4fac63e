import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { QueryResult, Section } from "../parts/page.tsx";
import { countText, dollarText } from "../parts/time.tsx";

interface Budget {
  readonly name: string;
  readonly setting: string;
  readonly used: number;
  readonly limit: number;
  readonly text: (value: number) => string;
  /** Tokens of unknown cost. */
  readonly unpriced?: number | undefined;
}

/** The budgets of the service and how much of each is used. */
export function Budgets() {
  const now = new Date();
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate())).toISOString();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
  const budgets = useQuery(`budgets ${day}`, async (signal) => {
    const [{ policy }, today, thisMonth] = await Promise.all([
      call("policy.get", {}, signal),
      call("usage.get", { from: day }, signal),
      call("usage.get", { from: month }, signal),
    ]);
    const dollars = (value: number) => dollarText(value);
    return [
      {
        name: "Tokens today",
        setting: "BUDGET_DAY_TOKENS",
        text: countText,
        used: today.tokens.total,
        limit: policy.day_tokens.value,
      },
      {
        name: "Cost today",
        setting: "BUDGET_DAY_USD",
        text: dollars,
        used: today.cost_usd ?? 0,
        limit: policy.day_usd.value,
        unpriced: today.unpriced_tokens,
      },
      {
        name: "Cost this month",
        setting: "BUDGET_MONTH_USD",
        text: dollars,
        used: thisMonth.cost_usd ?? 0,
        limit: policy.month_usd.value,
        unpriced: thisMonth.unpriced_tokens,
      },
    ] satisfies Budget[];
  });
  return (
    <Section title="Budgets">
      <QueryResult query={budgets} lines={3}>
        {(all) => (
          <ul class="budgets card">
            {all.map((budget) => (
              <li key={budget.name}>
                <Gauge {...budget} />
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
      <p class="hint below">Days and months are in UTC. Projects and agents can have tighter budgets in their policies.</p>
    </Section>
  );
}

function Gauge({ name, setting, used, limit, text, unpriced = 0 }: Budget) {
  const share = limit > 0 ? used / limit : 0;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "wait" : "good";
  return (
    <>
      <span>{name}</span>
      <span class="budget-text">
        {used === 0 && unpriced > 0 ? "price unknown" : `${text(used)} used`}, {limit > 0 ? `limit ${text(limit)}` : "no limit"}
        {unpriced > 0 && `, ${countText(unpriced)} tokens without a price`}
      </span>
      {limit > 0 ? (
        <meter class={tone} min={0} max={limit} value={Math.min(used, limit)} aria-label={name}>
          {Math.round(share * 100)} %
        </meter>
      ) : (
        <span class="hint">
          Set <code>{setting}</code> to set a limit.
        </span>
      )}
    </>
  );
}
