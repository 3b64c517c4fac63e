import type { DescFile, DescService, Message } from "@bufbuild/protobuf";
import type { Operation } from "@signalbox/schema/operation";
import { fieldProblem, Problem } from "@signalbox/schema/problem";
import { buildModel } from "./build-model.ts";
import { type Codec, createCodecs, type PlainObject } from "./codec.ts";
import { buildFile } from "./descriptors.ts";
import { Fault } from "./fault.ts";
import { type FieldNumbers, fieldNumbers, lockedNumbers } from "./field-numbers.ts";
import type { EnumModel, RpcModel } from "./model.ts";

export interface Rpc {
  readonly op: Operation;
  /** Name of the method in the service's descriptor. */
  readonly method: string;
  /** Request message → raw input of the operation. Throws a `bad_request` that names the field. */
  readonly read: (request: Message) => PlainObject;
  /** The error of a call, in protobuf's words: for a required enum that is missing, the names that its clients know. */
  readonly explain: (error: unknown, request: Message) => unknown;
  /** Parsed output of the operation → response message. */
  readonly write: (output: unknown) => Message;
}

interface Service {
  readonly desc: DescService;
  readonly rpcs: readonly Rpc[];
}

/** Descriptors and codecs of all services that the operations name. */
export function project(operations: readonly Operation[], numbers: FieldNumbers = fieldNumbers): Service[] {
  return buildModel(operations, lockedNumbers(numbers)).flatMap((pkg) => {
    const file: DescFile = buildFile(pkg);
    const codecs = createCodecs(pkg, file);
    return pkg.services.map((service) => {
      const desc = file.services.find((other) => other.name === service.name) as DescService;
      return { desc, rpcs: service.rpcs.map((rpc) => bindRpc(rpc, desc, codecs, pkg.enums)) };
    });
  });
}

function bindRpc(
  model: RpcModel,
  desc: DescService,
  codecs: ReadonlyMap<string, Codec>,
  packageEnums: readonly EnumModel[],
): Rpc {
  const request = codecs.get(model.request.name) as Codec;
  const response = codecs.get(model.response.name) as Codec;
  const { wrapped, clearable } = model;
  const requiredEnums = requiredEnumsOf(model, [...packageEnums, ...model.request.enums]);
  return {
    op: model.op,
    method: desc.methods.find((method) => method.name === model.name)?.localName as string,
    read(message) {
      try {
        const plain = request.read(message);
        return clearable ? clear(plain, clearable) : plain;
      } catch (error) {
        throw error instanceof Fault ? error.toProblem() : error;
      }
    },
    explain(error, message) {
      const field = error instanceof Problem && error.code === "bad_request" ? error.field : undefined;
      const values = field === undefined ? undefined : requiredEnums.get(field);
      // A number without a name is refused when it is read, and its error is complete.
      if (field === undefined || values === undefined || (error as Problem).cause instanceof Fault) return error;
      if (request.read(message)[field] !== undefined) return error;
      return fieldProblem(field, `is required; it must be one of ${values}`);
    },
    write: (output) => response.write(wrapped === null ? (output as PlainObject) : { [wrapped]: output }),
  };
}

/** The values of each enum that a request needs. JSON with another name, such as `agent`, reads as if the member were absent. */
function requiredEnumsOf({ request }: RpcModel, enums: readonly EnumModel[]): Map<string, string> {
  return new Map(
    request.fields.flatMap(({ name, type, label, optional, nullable }): [string, string][] => {
      const found = type.kind === "enum" ? enums.find((one) => one.name === type.name) : undefined;
      if (!found || label !== "single" || optional || nullable) return [];
      return [[name, found.values.map((value) => `${value.name} = ${value.number}`).join(", ")]];
    }),
  );
}

function clear({ clear_fields: named, ...plain }: PlainObject, clearable: NonNullable<RpcModel["clearable"]>): PlainObject {
  for (const [i, name] of ((named ?? []) as string[]).entries())
    Fault.at("clear_fields", () =>
      Fault.at(i, () => {
        const kind = clearable.get(name);
        if (!kind)
          throw new Fault(`"${name}" is not a member that can be cleared; these can: ${[...clearable.keys()].join(", ")}`);
        if (plain[name] !== undefined) throw new Fault(`"${name}" is also set; either set it or clear it`);
        plain[name] = kind === "null" ? null : kind === "list" ? [] : {};
      }),
    );
  return plain;
}
