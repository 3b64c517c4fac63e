import { create, createFileRegistry, type DescFile, type DescMessage, type DescService } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import {
  FileDescriptorProtoSchema,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";

/**
 * The public messages that gRPC tools expect of a server. No maintained npm package contains them for @bufbuild/protobuf.
 * Sources: google/rpc/error_details.proto, grpc/health/v1/health.proto, grpc/reflection/v1/reflection.proto.
 */
interface FieldSource {
  readonly number: number;
  readonly type: "string" | "bytes" | "int32" | `.${string}`;
  readonly repeated?: true;
  readonly oneof?: string;
  readonly isEnum?: true;
}
interface FileSource {
  readonly name: string;
  readonly package: string;
  readonly messages: Readonly<Record<string, Readonly<Record<string, FieldSource>>>>;
  /** Message → its enum. */
  readonly enums?: Readonly<Record<string, { readonly name: string; readonly values: readonly string[] }>>;
  readonly services?: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly input: string; readonly output: string; readonly stream: "none" | "server" | "both" }>>
    >
  >;
}

const scalars = { string: Type.STRING, bytes: Type.BYTES, int32: Type.INT32 };

function define(source: FileSource): DescFile {
  const prefix = `.${source.package}`;
  const messageType = Object.entries(source.messages).map(([name, fields]) => {
    const oneofs = [...new Set(Object.values(fields).flatMap(({ oneof }) => (oneof ? [oneof] : [])))];
    const nested = source.enums?.[name];
    return {
      name,
      oneofDecl: oneofs.map((oneof) => ({ name: oneof })),
      enumType: nested ? [{ name: nested.name, value: nested.values.map((value, number) => ({ name: value, number })) }] : [],
      field: Object.entries(fields).map(([field, { number, type, repeated, oneof, isEnum }]) => ({
        name: field,
        jsonName: protoCamelCase(field),
        number,
        label: repeated ? Label.REPEATED : Label.OPTIONAL,
        ...(type.startsWith(".")
          ? { type: isEnum ? Type.ENUM : Type.MESSAGE, typeName: prefix + type }
          : { type: scalars[type as keyof typeof scalars] }),
        ...(oneof ? { oneofIndex: oneofs.indexOf(oneof) } : {}),
      })),
    };
  });
  const service = Object.entries(source.services ?? {}).map(([name, methods]) => ({
    name,
    method: Object.entries(methods).map(([method, { input, output, stream }]) => ({
      name: method,
      inputType: `${prefix}.${input}`,
      outputType: `${prefix}.${output}`,
      ...(stream === "both" ? { clientStreaming: true } : {}),
      ...(stream === "none" ? {} : { serverStreaming: true }),
    })),
  }));
  const proto = create(FileDescriptorProtoSchema, {
    name: source.name,
    package: source.package,
    syntax: "proto3",
    messageType,
    service,
  });
  return createFileRegistry(proto, () => undefined).getFile(source.name) as DescFile;
}

const only = (file: DescFile, name: string): DescMessage => file.messages.find((message) => message.name === name) as DescMessage;

const errorDetails = define({
  name: "google/rpc/error_details.proto",
  package: "google.rpc",
  messages: {
    BadRequest: { field_violations: { number: 1, type: ".FieldViolation", repeated: true } },
    FieldViolation: { field: { number: 1, type: "string" }, description: { number: 2, type: "string" } },
  },
});
/** `{ fieldViolations: [{ field, description }] }` */
export const BadRequest: DescMessage = only(errorDetails, "BadRequest");

const health = define({
  name: "grpc/health/v1/health.proto",
  package: "grpc.health.v1",
  messages: {
    HealthCheckRequest: { service: { number: 1, type: "string" } },
    HealthCheckResponse: { status: { number: 1, type: ".HealthCheckResponse.ServingStatus", isEnum: true } },
  },
  enums: { HealthCheckResponse: { name: "ServingStatus", values: ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"] } },
  services: {
    Health: {
      Check: { input: "HealthCheckRequest", output: "HealthCheckResponse", stream: "none" },
      Watch: { input: "HealthCheckRequest", output: "HealthCheckResponse", stream: "server" },
    },
  },
});
export const Health: DescService = health.services[0] as DescService;

const request = "message_request";
const response = "message_response";
const reflectionFile = (version: "v1" | "v1alpha") =>
  define({
    name: `grpc/reflection/${version}/reflection.proto`,
    package: `grpc.reflection.${version}`,
    messages: {
      ServerReflectionRequest: {
        host: { number: 1, type: "string" },
        file_by_filename: { number: 3, type: "string", oneof: request },
        file_containing_symbol: { number: 4, type: "string", oneof: request },
        file_containing_extension: { number: 5, type: ".ExtensionRequest", oneof: request },
        all_extension_numbers_of_type: { number: 6, type: "string", oneof: request },
        list_services: { number: 7, type: "string", oneof: request },
      },
      ExtensionRequest: { containing_type: { number: 1, type: "string" }, extension_number: { number: 2, type: "int32" } },
      ServerReflectionResponse: {
        valid_host: { number: 1, type: "string" },
        original_request: { number: 2, type: ".ServerReflectionRequest" },
        file_descriptor_response: { number: 4, type: ".FileDescriptorResponse", oneof: response },
        all_extension_numbers_response: { number: 5, type: ".ExtensionNumberResponse", oneof: response },
        list_services_response: { number: 6, type: ".ListServiceResponse", oneof: response },
        error_response: { number: 7, type: ".ErrorResponse", oneof: response },
      },
      FileDescriptorResponse: { file_descriptor_proto: { number: 1, type: "bytes", repeated: true } },
      ExtensionNumberResponse: {
        base_type_name: { number: 1, type: "string" },
        extension_number: { number: 2, type: "int32", repeated: true },
      },
      ListServiceResponse: { service: { number: 1, type: ".ServiceResponse", repeated: true } },
      ServiceResponse: { name: { number: 1, type: "string" } },
      ErrorResponse: { error_code: { number: 1, type: "int32" }, error_message: { number: 2, type: "string" } },
    },
    services: {
      ServerReflection: {
        ServerReflectionInfo: { input: "ServerReflectionRequest", output: "ServerReflectionResponse", stream: "both" },
      },
    },
  });
/** Old tools request v1alpha, which differs only in its name. */
export const Reflections: readonly DescService[] = [reflectionFile("v1"), reflectionFile("v1alpha")].map(
  (file) => file.services[0] as DescService,
);
