import { nearestName } from "@signalbox/schema/nearest";
import { problem } from "@signalbox/schema/problem";
import type { CheckNamedTools } from "../platform/named-tools.ts";
import type { ListedTool } from "./registry.ts";

type KnownTool = Pick<ListedTool, "qualified_name" | "provider" | "origin">;

/** What a policy can name besides tools: the answer, and everything. */
const otherWrites = ["comment", "*"];

/**
 * A mistyped name in `approve` would let its tool write without approval. A name of a provider that does not exist is accepted,
 * because a plugin or an MCP server may be added after the policy; so is a new name of an MCP server's tool.
 */
export const checkNamedTools =
  (tools: () => readonly KnownTool[]): CheckNamedTools =>
  (named, before = {}) => {
    const check = (field: string, names: readonly string[], stored: readonly string[], others: readonly string[]) => {
      const known = tools();
      for (const name of names) {
        const fault = stored.includes(name) ? null : faultOf(name, known, others);
        if (fault !== null) throw problem("bad_request", `${field}: ${fault}`, { field });
      }
    };
    check("allowed_tools", named.allowed_tools ?? [], before.allowed_tools ?? [], []);
    check("policy.approve", named.policy?.approve ?? [], before.policy?.approve ?? [], otherWrites);
  };

/** Why a name means no tool; `null` if it does, or may later. */
function faultOf(name: string, tools: readonly KnownTool[], others: readonly string[]): string | null {
  const provider = /^(.+?)\./.exec(name)?.[1];
  const providers = [...new Set(tools.map((tool) => tool.provider))];
  const ownTools = tools.filter((tool) => isSame(tool.provider, provider));
  if (others.some((other) => isSame(other, name))) return null;
  if (provider === undefined) {
    const meant = nearestName(name.replace("__", "."), [...tools.map((tool) => tool.qualified_name), ...others]);
    const forms = ["provider.tool, such as alpha.add_comment", "provider.*", ...others].join("; ");
    return `"${name}" is not the name of a tool${meant ? `; did you mean "${meant}"?` : `: use one of these forms: ${forms}`}`;
  }
  if (ownTools.length === 0) {
    const meant = nearestName(provider, providers);
    return meant && `there is no provider "${provider}"; did you mean "${meant}${name.slice(provider.length)}"?`;
  }
  const names = [`${ownTools[0]?.provider}.*`, ...ownTools.map((tool) => tool.qualified_name)];
  if (names.some((one) => isSame(one, name))) return null;
  const meant = nearestName(
    name.slice(provider.length),
    names.map((one) => one.slice(provider.length)),
  );
  if (meant) return `there is no tool "${name}"; did you mean "${provider}${meant}"?`;
  if (ownTools.some(({ origin }) => origin === "mcp")) return null;
  return `there is no tool "${name}": ${provider} has ${names.slice(1).join(", ")}`;
}

const isSame = (a: string, b: string | undefined): boolean => a.toLowerCase() === b?.toLowerCase();
