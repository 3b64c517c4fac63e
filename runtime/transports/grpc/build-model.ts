import type { Operation } from "@signalbox/schema/operation";
import { httpRoute } from "@signalbox/schema/operation";
import type { Numbers } from "./field-numbers.ts";
import { Messages } from "./messages.ts";
import type { FieldModel, MessageModel, PackageModel, RpcModel } from "./model.ts";
import { lowerSnake } from "./model.ts";
import { entityName, unwrapSchema } from "./zod-shape.ts";

/** The gateway of external agents has a separate package, so that authors of agents generate code from one small file. */
const gateway = { name: "signalbox.gateway.v1", file: "gateway.proto" };
const api = { name: "signalbox.api.v1", file: "api.proto" };
const packageOf = (service: string) => (service === "AgentGateway" ? gateway : api);

/** Converts the operations to protobuf. Throws for a schema that protobuf cannot express, naming the member. */
export function buildModel(operations: readonly Operation[], numbers: Numbers): PackageModel[] {
  const packages = new Map<string, { file: string; messages: Messages; services: Map<string, RpcModel[]> }>();
  for (const op of operations) {
    if (op.rpc === null) continue;
    const [service, name, ...rest] = op.rpc.split(".");
    if (!service || !name || rest.length)
      throw new Error(`${op.id}: rpc "${op.rpc}" must be Service.Method, such as AgentService.GetAgent`);
    const at = packageOf(service);
    const entry = packages.get(at.name) ?? {
      file: at.file,
      messages: new Messages(at.name, numbers),
      services: new Map<string, RpcModel[]>(),
    };
    packages.set(at.name, entry);
    const rpcs = entry.services.get(service) ?? [];
    entry.services.set(service, rpcs);
    if (rpcs.some((other) => other.name === name)) throw new Error(`${op.id}: rpc "${op.rpc}" is taken by another operation`);
    rpcs.push(buildRpc(op, name, entry.messages));
  }
  return [...packages].map(([name, { file, messages, services }]) => ({
    name,
    file,
    ...messages.all(),
    services: [...services].map(([service, rpcs]) => ({ name: service, rpcs })),
  }));
}

function buildRpc(op: Operation, name: string, messages: Messages): RpcModel {
  const input = messages.object(`${name}Request`, op.input, "input", `Request of ${name}.`, op.id);
  const clearable = httpRoute(op).method === "PUT" ? clearableOf(input) : new Map();
  const request = clearable.size ? messages.extend(input, clearFields) : input;
  const { def, schema } = unwrapSchema(op.output, "output");
  const entity = entityName(schema);
  const about = `Response of ${name}.`;
  if (def.type === "object" && !def.catchall && (!entity || entity === `${name}Response`)) {
    const response = messages.object(`${name}Response`, op.output, "output", about, op.id);
    return { name, op, request, response, wrapped: null, clearable: clearable.size ? clearable : null };
  }
  const memberName = entity ? lowerSnake(entity) : def.type === "array" ? "items" : "value";
  const response = messages.wrapper(`${name}Response`, memberName, op.output, about, op.id);
  return { name, op, request, response, wrapped: memberName, clearable: clearable.size ? clearable : null };
}

const clearFields = {
  name: "clear_fields",
  about:
    "Names of members to clear. A member named here becomes null (a list or map becomes empty); all other unset members keep their values.",
  type: { kind: "scalar", scalar: "string" },
  label: "list",
  presence: true,
  nullable: false,
  optional: true,
} as const;

/**
 * In an update, an absent member means that it does not change, and protobuf has no null. So members that can be set to null or
 * emptied are named in `clear_fields`.
 */
function clearableOf(request: MessageModel): Map<string, "null" | "list" | "map"> {
  const kinds = request.fields
    .filter((field) => field.presence)
    .map((field: FieldModel) => [field.name, field.nullable ? "null" : field.label] as const);
  return new Map(kinds.filter((pair): pair is readonly [string, "null" | "list" | "map"] => pair[1] !== "single"));
}
