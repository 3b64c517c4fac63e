import type { Contributions } from "@signalbox/sdk";
import { contributionKinds } from "@signalbox/sdk/manifest";

/** The same contributions as plain objects: a plugin may implement one as a class, whose functions need their instance. */
export function plainContributions(contributions: Contributions): Contributions {
  const plain = contributionKinds.flatMap((kind) => {
    const all = Object.entries(contributions[kind] ?? {});
    return all.length > 0 ? [[kind, Object.fromEntries(all.map(([name, one]) => [name, membersOf(one)]))]] : [];
  });
  return { ...membersOf(contributions), ...Object.fromEntries(plain) };
}

/** The members of an object and of its classes, with each function bound to the object. */
function membersOf(instance: object): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (let level = instance; level && level !== Object.prototype; level = Object.getPrototypeOf(level))
    for (const name of Object.getOwnPropertyNames(level)) {
      if (name === "constructor" || Object.hasOwn(members, name)) continue;
      const member: unknown = Reflect.get(instance, name);
      members[name] = typeof member === "function" ? member.bind(instance) : member;
    }
  return members;
}
