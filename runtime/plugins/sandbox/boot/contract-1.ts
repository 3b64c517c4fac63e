import { fromBase64 } from "./bytes.ts";
import { type Facts, proxies } from "./capabilities.ts";
import { BootError, issueMessage as messageOf } from "./errors.ts";
import { missingFunctions } from "./missing-functions.ts";
import { ask } from "./peer.ts";

/** The members of a plugin of contract 1 that are used here. The plugin was created with its own copy of the sdk. */
export interface Plugin {
  readonly id: string;
  readonly version: string;
  readonly sdk: string;
  readonly about?: string;
  readonly needs: readonly string[];
  readonly hosts?: readonly string[];
  readonly config: Schema;
  readonly offloaded?: Readonly<Record<string, (...input: unknown[]) => unknown>>;
  setup(context: unknown): unknown;
}
interface Schema {
  parse(value: unknown): unknown;
  readonly "~standard": { readonly jsonSchema: { input(options: unknown): Record<string, unknown> } };
}
type Target = Readonly<Record<string, unknown>>;
type Contributions = Readonly<Record<string, Readonly<Record<string, Target>>>>;
export interface CallParams {
  readonly kind: string;
  readonly name: string;
  readonly method: string;
  readonly args: unknown[];
  /** Members of the call object, the last argument of most functions. */
  readonly call?: Readonly<Record<string, unknown>>;
  readonly deadline_ms: number;
}

function schemaOf(schema: unknown, member: string): Record<string, unknown> {
  const standard = (schema as Schema | undefined)?.["~standard"];
  if (!standard?.jsonSchema) throw new Error(`${member} must be a schema of zod 4, such as z.object({})`);
  return standard.jsonSchema.input({ target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } });
}

/** Sets a plugin up and serves its contributions. */
export class Contract1 {
  readonly #plugin: Plugin;
  #contributions: Contributions = {};

  constructor(plugin: Plugin) {
    this.#plugin = plugin;
  }

  async setUp(config: unknown, facts: Facts): Promise<void> {
    const plugin = this.#plugin;
    let parsed: unknown;
    try {
      parsed = plugin.config.parse(config);
    } catch (error) {
      throw new BootError("BAD_CONFIG", `${plugin.id}: its settings are not valid: ${messageOf(error)}`);
    }
    try {
      const capabilities = proxies(plugin.needs, facts, plugin.offloaded);
      const contributions = await plugin.setup(Object.assign(capabilities, { config: parsed }));
      if (typeof contributions !== "object" || contributions === null)
        throw new Error("it must return an object of contributions");
      this.#contributions = contributions as Contributions;
    } catch (error) {
      throw new BootError("SETUP_FAILED", `${plugin.id}: setup threw: ${messageOf(error)}`);
    }
  }

  async dispose(): Promise<void> {
    await (this.#contributions as unknown as { dispose?(): unknown }).dispose?.();
  }

  /** Runs one function of a contribution. */
  async run(params: CallParams, id: number, signal: AbortSignal): Promise<unknown> {
    const { kind, name, method, call } = params;
    const target = this.#contributions[kind]?.[name];
    const run = target?.[method];
    if (!target || typeof run !== "function") throw new BootError("not_found", `There is no ${kind}.${name}.${method}.`);
    const args = kind === "sources" && method === "verify" ? [withBytes(params.args[0]), ...params.args.slice(1)] : params.args;
    if (kind === "sources" && method === "verify") args[1] = (target.connection as Schema).parse(args[1]);
    if (kind === "routes") args[0] = withInput(target, args[0]);
    if (kind === "tools") args[0] = parse(target.input as Schema, args[0]);
    const last = call ? [this.#callOf(kind, target, call, id, signal)] : [];
    const result = await run.call(target, ...args, ...last);
    if (kind === "tools" && result !== null) return outputOf(target.output as Schema, result);
    return result;
  }

  #callOf(kind: string, target: Target, call: Readonly<Record<string, unknown>>, id: number, signal: AbortSignal) {
    const schema = kind === "tools" ? this.#sourceSchema() : ((target.connection ?? target.config) as Schema | undefined);
    return {
      ...call,
      signal,
      ...(call.connection !== undefined && schema && { connection: schema.parse(call.connection) }),
      ...(kind === "useCases" && { save: async (state: unknown) => void (await ask("save", { call: id, state })) }),
    };
  }

  /** The tools of a plugin use the connection of the source with the plugin's name. */
  #sourceSchema(): Schema | undefined {
    return this.#contributions.sources?.[this.#plugin.id]?.connection as Schema | undefined;
  }

  declaration(): Record<string, unknown> {
    const { id, version, sdk, about, needs, hosts, config } = this.#plugin;
    const describeEach = (kind: string, describe: (target: Target) => unknown) =>
      Object.fromEntries(
        Object.entries(this.#contributions[kind] ?? {}).map(([name, target]) => {
          try {
            return [name, describe(target)];
          } catch (error) {
            throw new BootError("SETUP_FAILED", `${id}: ${kind}.${name}: ${messageOf(error)}`);
          }
        }),
      );
    const contributes = {
      sources: describeEach("sources", describeSource),
      tools: describeEach("tools", describeTool),
      knowledge: describeEach("knowledge", ({ about, config, secrets }) => ({
        about,
        secrets,
        config: schemaOf(config, "config"),
      })),
      routes: describeEach("routes", ({ about, method, scope, input, raw }) => ({
        about,
        method,
        scope,
        ...(input !== undefined && { input: schemaOf(input, "input") }),
        raw: raw === true,
      })),
      queues: describeEach("queues", ({ about, take, receive }) => ({
        about,
        forwards: typeof take !== "function",
        ...(typeof receive === "function" && { feeds: true }),
      })),
      ...Object.fromEntries(["memories", "useCases"].map((kind) => [kind, describeEach(kind, ({ about }) => ({ about }))])),
    };
    const missing = missingFunctions(this.#contributions);
    return { plugin: { id, version, sdk, about, needs, hosts }, config: schemaOf(config, "config"), contributes, missing };
  }
}

const describeTool = ({ about, category, effect, idempotent, keeps_private, find, input, output }: Target) => ({
  about,
  category,
  effect,
  idempotent: idempotent === true,
  find: typeof find === "function",
  keeps_private: keeps_private === true,
  input: schemaOf(input, "input"),
  output: schemaOf(output, "output"),
});
const describeSource = (source: Target) => ({
  about: source.about,
  secrets: source.secrets,
  required: source.required,
  signature: source.signature,
  connection: schemaOf(source.connection, "connection"),
  has: [
    "poll",
    "createIssue",
    "closeIssue",
    "projectId",
    "findAll",
    "retract",
    "react",
    "update",
    "standing",
    "describe",
    "checkWebhook",
  ].filter((name) => typeof source[name] === "function"),
});

const withBytes = (request: unknown) => {
  const { body, ...rest } = request as { body: string };
  return { ...rest, body: fromBase64(body) };
};

const withInput = ({ input, method }: Target, request: unknown) => {
  const { query, body, bytes } = request as { query: unknown; body: unknown; bytes?: string };
  const sent = bytes === undefined ? {} : { bytes: fromBase64(bytes) };
  return { ...(request as object), ...sent, input: input ? parse(input as Schema, method === "GET" ? query : body) : {} };
};

function parse(schema: Schema, input: unknown): unknown {
  try {
    return schema.parse(input);
  } catch (error) {
    throw new BootError("invalid_input", messageOf(error));
  }
}

function outputOf(schema: Schema, result: unknown): unknown {
  try {
    return schema.parse(result);
  } catch (error) {
    throw new BootError("failed", `what run returned does not match output: ${messageOf(error)}`);
  }
}
