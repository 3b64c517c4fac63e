import type { BuiltManifest, DeclaredContributions } from "@signalbox/sdk/manifest";
import { contributionKinds } from "@signalbox/sdk/manifest";
import semver from "semver";

type Version = Pick<BuiltManifest, "version" | "contributes">;
type Schema = Readonly<Record<string, unknown>>;

/**
 * The breaking changes of a version that its version number does not announce, in words: a contribution was removed, or a tool
 * refuses input that was valid. Empty if the version number announces breaking changes, and for a prerelease, which promises no
 * compatibility.
 */
export function breakingChanges(before: Version | null | undefined, after: Version): string[] {
  if (!before || semver.prerelease(after.version) || !semver.gt(after.version, before.version)) return [];
  if (!semver.satisfies(after.version, `^${before.version}`, { includePrerelease: true })) return [];
  return [
    ...removedContributions(before.contributes, after.contributes),
    ...refusedInputs(before.contributes.tools, after.contributes.tools),
  ];
}

const one: Record<(typeof contributionKinds)[number], string> = {
  sources: "source",
  tools: "tool",
  memories: "memory store",
  knowledge: "knowledge connector",
  queues: "queue",
  useCases: "use case",
  routes: "route",
};
const removedContributions = (before: DeclaredContributions, after: DeclaredContributions): string[] =>
  contributionKinds.flatMap((kind) =>
    Object.keys(before[kind]).flatMap((name) => (Object.hasOwn(after[kind], name) ? [] : [`${one[kind]} ${name}: was removed`])),
  );

const refusedInputs = (before: DeclaredContributions["tools"], after: DeclaredContributions["tools"]): string[] =>
  Object.entries(before).flatMap(([name, { input }]) =>
    Object.hasOwn(after, name) ? narrowedInputs(input, after[name]?.input ?? {}, "").map((what) => `tool ${name}: ${what}`) : [],
  );

/**
 * The inputs that one schema accepts and another does not, as far as their plain keywords show. `at`: path of the member with
 * these schemas.
 */
function narrowedInputs(before: Schema, after: Schema, at: string): string[] {
  const label = at === "" ? "its input" : `the input ${at}`;
  const [had, has] = [typesOf(before), typesOf(after)];
  const rejected = has && (had ?? ["anything"]).filter((type) => !takes(has, type));
  if (rejected && rejected.length > 0) return [`${label} was ${rejected.join(" or ")}, and is now ${has.join(" or ")}`];
  return [
    ...values(before, after, label),
    ...bounds(before, after, label),
    ...members(before, after, at),
    ...items(before, after, at),
  ];
}

/** The types that a schema accepts; `null` if it names none. */
function typesOf({ type, anyOf, ...rest }: Schema): string[] | null {
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.map(String);
  if (!Array.isArray(anyOf)) return rest.const === undefined ? null : [rest.const === null ? "null" : typeof rest.const];
  const all = anyOf.map((option: Schema) => typesOf(option));
  return all.includes(null) ? null : [...new Set(all.flatMap((types) => types ?? []))];
}
const takes = (types: readonly string[], type: string): boolean =>
  types.includes(type) || (type === "integer" && types.includes("number"));

function values(before: Schema, after: Schema, label: string): string[] {
  const listOf = ({ enum: list, const: value }: Schema) => (Array.isArray(list) ? list : value === undefined ? null : [value]);
  const [had, has] = [listOf(before), listOf(after)];
  if (!has) return [];
  if (!had) return [`${label} now accepts only ${has.map((value) => JSON.stringify(value)).join(", ")}`];
  const rejected = had.filter((value) => !has.includes(value));
  return rejected.length > 0 ? [`${label} no longer accepts ${rejected.map((value) => JSON.stringify(value)).join(", ")}`] : [];
}

function bounds(before: Schema, after: Schema, label: string): string[] {
  const limit = (keyword: string, isMore: (has: number, had: number) => boolean) => {
    const [had, has] = [before[keyword], after[keyword]];
    if (typeof has !== "number" || (typeof had === "number" && !isMore(has, had))) return [];
    return [`${label} has ${keyword} ${has}, before ${typeof had === "number" ? had : "none"}`];
  };
  const least = ["minimum", "exclusiveMinimum", "minLength", "minItems"].flatMap((key) => limit(key, (has, had) => has > had));
  return [
    ...least,
    ...["maximum", "exclusiveMaximum", "maxLength", "maxItems"].flatMap((key) => limit(key, (has, had) => has < had)),
  ];
}

function members(before: Schema, after: Schema, at: string): string[] {
  const [had, has] = [propertiesOf(before), propertiesOf(after)];
  const path = (name: string) => (at === "" ? name : `${at}.${name}`);
  const requiredOf = (schema: Schema): unknown[] => (Array.isArray(schema.required) ? schema.required : []);
  return [
    ...requiredOf(after).flatMap((name) =>
      requiredOf(before).includes(name) ? [] : [`now requires the input ${path(String(name))}`],
    ),
    ...Object.keys(had).flatMap((name) => {
      if (Object.hasOwn(has, name)) return narrowedInputs(had[name] as Schema, has[name] as Schema, path(name));
      return after.additionalProperties === false ? [`no longer accepts the input ${path(name)}`] : [];
    }),
  ];
}
const items = (before: Schema, after: Schema, at: string): string[] =>
  isSchema(before.items) && isSchema(after.items) ? narrowedInputs(before.items, after.items, `${at}[]`) : [];

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const propertiesOf = ({ properties }: Schema): Schema =>
  isSchema(properties) ? Object.fromEntries(Object.entries(properties).filter(([, one]) => isSchema(one))) : {};
