import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { operationOf } from "../api/statuses/document.ts";
import { root } from "./process.ts";

type Plain = Record<string, unknown>;
export interface Said {
  /** `ok`, or the code of the problem in gRPC's spelling. */
  readonly code: string;
  /** The response in protobuf's JSON, with the names of the .proto; zero and empty values are absent. */
  readonly value: Plain;
}
/** Calls an operation with the same parameters over HTTP or gRPC. The responses have the same format. */
export interface Doors {
  http(id: string, given: Plain): Promise<Said>;
  grpc(id: string, given: Plain): Promise<Said>;
}

const codes: Record<number, string> = { 400: "invalid_argument", 404: "not_found" };

/** Knows only the service's openapi.json and its .proto files, like any client. */
export async function openDoors(url: string, apiKey: string): Promise<Doors> {
  const buf = join(root, "node_modules/.bin/buf");
  const image = execFileSync(buf, ["build", "schema/gen", "--as-file-descriptor-set", "-o", "-"], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
  const methodOf = (id: string) => {
    const [service = "", method] = operationOf(id).grpc?.split("/") ?? [];
    const found = registry.getService(service)?.methods.find(({ name }) => name === method);
    if (!found) throw new Error(`no .proto file has ${operationOf(id).grpc}`);
    return found;
  };
  const read = (desc: DescMessage, json: JsonObject): Plain =>
    toJson(desc, fromJson(desc, json, { registry }), { registry, useProtoFieldName: true }) as Plain;
  /** A response that is a single value is the only member of the message. */
  const unwrap = (desc: DescMessage, value: Plain): Plain => {
    const [only, more] = desc.fields;
    return only?.fieldKind === "message" && !more ? ((value[only.name] as Plain) ?? {}) : value;
  };
  return {
    http: async (id, given) => {
      const { method, path, params } = operationOf(id);
      const rest = new Map(Object.entries(given));
      for (const { name } of params) rest.delete(name);
      const address = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(given[name])));
      const inQuery = method === "GET" || method === "DELETE";
      const query = inQuery ? `?${new URLSearchParams([...rest].map(([name, value]) => [name, String(value)]))}` : "";
      const body = inQuery ? null : JSON.stringify(Object.fromEntries(rest));
      const response = await fetch(`${url}${address}${query}`, { method, headers, body });
      const text = await response.text();
      if (!response.ok) return { code: codes[response.status] ?? String(response.status), value: {} };
      const { output } = methodOf(id);
      const answer = text === "" ? {} : JSON.parse(text);
      const total = response.headers.get("x-total-count");
      const shaped = Array.isArray(answer) ? { items: answer, ...(total && { total }) } : answer;
      const [only, more] = output.fields;
      const wrapped = only?.fieldKind === "message" && !more ? { [only.name]: shaped } : shaped;
      return { code: "ok", value: unwrap(output, read(output, asProto(output, wrapped))) };
    },
    grpc: async (id, given) => {
      const { input, output } = methodOf(id);
      const body = JSON.stringify(asProto(input, given));
      const response = await fetch(`${url}/${operationOf(id).grpc}`, { method: "POST", headers, body });
      const answer = (await response.json()) as JsonObject;
      if (!response.ok) return { code: String(answer.code), value: {} };
      return { code: "ok", value: unwrap(output, read(output, answer)) };
    },
  };
}

/** The JSON of the HTTP API as the JSON of a protobuf message. */
function asProto(desc: DescMessage, value: Plain): JsonObject {
  if (desc.typeName.startsWith("google.protobuf.")) return value as JsonObject;
  const entries = desc.fields.flatMap((field) => {
    const given = value[field.name];
    // In free JSON, null is a value; everywhere else, it becomes absent.
    const absent = given === undefined || (given === null && field.message?.typeName !== "google.protobuf.Value");
    return absent ? [] : [[field.name, member(field, given)]];
  });
  return Object.fromEntries(entries);
}

function member(field: DescField, value: unknown): unknown {
  const { message, enum: ofEnum } = field;
  const one = (each: unknown): unknown => {
    if (message) return typeof each === "object" && each !== null ? asProto(message, each as Plain) : each;
    if (!ofEnum) return field.scalar === 9 ? String(each) : each;
    const prefix = ofEnum.values[0]?.name.replace(/UNSPECIFIED$/, "") ?? "";
    return `${prefix}${String(each)
      .replace(/[^a-zA-Z0-9]/g, "_")
      .toUpperCase()}`;
  };
  if (field.fieldKind === "list") return (value as unknown[]).map(one);
  if (field.fieldKind === "map") return Object.fromEntries(Object.entries(value as Plain).map(([key, each]) => [key, one(each)]));
  return one(value);
}
