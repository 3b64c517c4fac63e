import type { UsageGroup } from "../../../../schema/gen/client.ts";
import { Table } from "./table.tsx";
import { countText, dollarText } from "./time.tsx";

/** One bar per day: the cost if it is known, otherwise the tokens. The numbers are in the title of each bar, and in a table. */
export function DayBars({ days, from, count }: { days: readonly UsageGroup[]; from: string; count: number }) {
  const dayByName = new Map(days.map((day) => [day.day, day]));
  const hasCosts = days.some(({ cost_usd }) => (cost_usd ?? 0) > 0);
  const all = Array.from({ length: count }, (_, index) => {
    const day = new Date(Date.parse(from) + index * 86_400_000).toISOString().slice(0, 10);
    const group = dayByName.get(day);
    const value = group ? (hasCosts ? (group.cost_usd ?? 0) : group.tokens.total) : 0;
    return {
      day,
      value,
      text: `${day}: ${group ? `${dollarText(group.cost_usd)}, ${countText(group.tokens.total)} tokens` : "nothing"}`,
    };
  });
  const most = Math.max(...all.map(({ value }) => value), 1e-9);
  const width = 100 / count;
  return (
    <>
      <figure class="card chart">
        <svg
          viewBox="0 0 100 40"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${hasCosts ? "Cost" : "Tokens"} by day, up to ${hasCosts ? dollarText(most) : countText(most)}`}
        >
          {all.map(({ day, value, text }, index) => (
            <rect
              key={day}
              x={index * width + width * 0.1}
              width={width * 0.8}
              y={40 - (value / most) * 39}
              height={Math.max(0.3, (value / most) * 39)}
            >
              <title>{text}</title>
            </rect>
          ))}
        </svg>
        <figcaption>
          <span>{all[0]?.day}</span>
          <span>{hasCosts ? `up to ${dollarText(most)} a day` : `up to ${countText(most)} tokens a day (prices unknown)`}</span>
          <span>{all.at(-1)?.day}</span>
        </figcaption>
      </figure>
      <details>
        <summary>Numbers by day</summary>
        <Table label="Cost by day" columns={["Day"]} numbers={["Runs", "Tokens", "Cost"]}>
          {days.map((group) => (
            <tr key={group.day}>
              <th scope="row">{group.day}</th>
              <td class="number" data-label="Runs">
                {countText(group.runs)}
              </td>
              <td class="number" data-label="Tokens">
                {countText(group.tokens.total)}
              </td>
              <td class="number" data-label="Cost">
                {dollarText(group.cost_usd)}
              </td>
            </tr>
          ))}
        </Table>
      </details>
    </>
  );
}
