import type { Operation } from "@signalbox/schema/operation";

/** The protobuf form of the operations, from which `schema/gen/*.proto` and the server's descriptors are generated. */
export interface PackageModel {
  /** For example `signalbox.api.v1`. */
  readonly name: string;
  /** File name below `schema/gen`, for example `api.proto`. */
  readonly file: string;
  readonly messages: readonly MessageModel[];
  readonly enums: readonly EnumModel[];
  readonly services: readonly ServiceModel[];
}

interface ServiceModel {
  readonly name: string;
  readonly rpcs: readonly RpcModel[];
}

export interface RpcModel {
  readonly name: string;
  readonly op: Operation;
  readonly request: MessageModel;
  readonly response: MessageModel;
  /** The member of the response that contains the output; null if the output's members are those of the response. */
  readonly wrapped: string | null;
  /** Members that `clear_fields` may name, with the values to which they are set; null if the operation has no `clear_fields`. */
  readonly clearable: ReadonlyMap<string, "null" | "list" | "map"> | null;
}

export interface MessageModel {
  /** Full name, for example `signalbox.api.v1.Agent.Limits`. */
  readonly name: string;
  readonly about: string | undefined;
  readonly fields: readonly FieldModel[];
  readonly messages: readonly MessageModel[];
  readonly enums: readonly EnumModel[];
  readonly reserved: readonly NumberedName[];
}

export interface FieldModel extends NumberedName {
  readonly about: string | undefined;
  readonly type: FieldType;
  readonly label: "single" | "list" | "map";
  /** May be absent or null: `optional` in proto3. An empty list or map of this kind reads as absent. */
  readonly presence: boolean;
  /** Whether null is one of its values. On the wire, null is the same as absent. */
  readonly nullable: boolean;
  /** Whether it may be absent. A member that is absent on the wire is read as null if the schema requires it and allows null. */
  readonly optional: boolean;
}

export type Scalar = "string" | "bool" | "double" | "int32" | "int64";
export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: Scalar }
  | { readonly kind: "enum"; readonly name: string }
  | { readonly kind: "message"; readonly name: string }
  /** Free JSON: google.protobuf.Value. */
  | { readonly kind: "value" };

export interface EnumModel {
  readonly name: string;
  readonly about: string | undefined;
  /** Without the zero value, which is `<PREFIX>_UNSPECIFIED`. */
  readonly values: readonly (NumberedName & { readonly text: string })[];
  readonly reserved: readonly NumberedName[];
}

export interface NumberedName {
  readonly name: string;
  readonly number: number;
}

export const shortName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);
export const zeroValue = (enumName: string): string => `${upperSnake(shortName(enumName))}_UNSPECIFIED`;
export const pascal = (snake: string): string => snake.replace(/(?:^|_)([a-z0-9])/g, (_, first: string) => first.toUpperCase());
export const upperSnake = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase();
export const lowerSnake = (name: string): string => upperSnake(name).toLowerCase();

/** proto3 `optional` is written only if the type itself cannot express "absent". */
export const isProtoOptional = (field: FieldModel): boolean =>
  field.presence && field.label === "single" && (field.type.kind === "scalar" || field.type.kind === "enum");
