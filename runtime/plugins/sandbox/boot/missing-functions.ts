/** The functions that a contribution of each kind must have. */
const requiredFunctions: Readonly<Record<string, readonly string[]>> = {
  tools: ["run"],
  sources: ["verify", "parse", "account", "check", "deliver", "find"],
  memories: ["put", "get", "delete", "list", "nearest", "match", "unembedded", "embed", "clearVectors", "sweep", "check"],
  knowledge: ["list", "read"],
  useCases: ["setup", "teardown"],
  queues: ["publish"],
  routes: ["run"],
};
/** A queue without `take` only forwards messages. */
const storingQueue = ["pending", "take", "ack", "expire"];

type Contributions = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;

/** The functions that are missing in the contributions of a plugin, for example `sources.linear.verify`. */
export const missingFunctions = (contributions: Contributions): string[] =>
  Object.entries(requiredFunctions).flatMap(([kind, required]) =>
    Object.entries(contributions[kind] ?? {}).flatMap(([name, target]) => {
      const wanted = kind === "queues" && target.take !== undefined ? [...required, ...storingQueue] : required;
      return wanted.filter((one) => typeof target[one] !== "function").map((one) => `${kind}.${name}.${one}`);
    }),
  );
