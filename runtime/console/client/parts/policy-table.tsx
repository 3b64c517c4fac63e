import type { Agent } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { useQuery } from "../api/query.ts";
import { limits } from "../part-words.ts";
import { Field, Form, textOf } from "./form.tsx";
import { QueryResult } from "./page.tsx";
import { Table } from "./table.tsx";
import { asText } from "./text.tsx";
import { countText, dollarText } from "./time.tsx";

interface PolicyProps {
  readonly agentId: string;
  readonly own: Agent["policy"];
  readonly reload: () => Promise<void>;
}

/** The effective policy of an agent, each value with the level that sets it, and the agent's own part of it. */
export function PolicyTable({ agentId, own, reload }: PolicyProps) {
  const effectivePolicy = useQuery(`policy ${agentId}`, (signal) => call("policy.get", { agent_id: agentId }, signal));
  const save = async (values: FormData) => {
    const policy = JSON.parse(textOf(values, "policy") || "{}") as Agent["policy"];
    await call("agents.update", { id: agentId, policy });
    await Promise.all([reload(), effectivePolicy.reload()]);
  };
  return (
    <>
      <QueryResult query={effectivePolicy}>
        {({ policy }) => (
          <Table label="Policy" columns={["Limit", "Value", "Set by"]}>
            {Object.entries(policy).map(([name, { value, level }]) => (
              <tr key={name}>
                <th scope="row">
                  {Object.hasOwn(limits, name) ? limits[name as keyof typeof limits] : name.replaceAll("_", " ")}
                </th>
                <td data-label="Value">{valueText(name, value)}</td>
                <td data-label="Set by">{level}</td>
              </tr>
            ))}
          </Table>
        )}
      </QueryResult>
      <details>
        <summary>Change this agent's own limits</summary>
        <Form label="Save policy" run={save} needs="write">
          <Field
            name="policy"
            label="Limits as JSON"
            value={asText(own)}
            lines={6}
            hint='They narrow the limits from the settings and the project, for example {"staged": true, "day_usd": 5}.'
          />
        </Form>
      </details>
    </>
  );
}

const valueText = (name: string, value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.join(", ");
  if (value === 0) return "no limit";
  if (typeof value === "number") return name.endsWith("_usd") ? dollarText(value) : countText(value);
  return typeof value === "boolean" ? (value ? "yes" : "no") : String(value);
};
