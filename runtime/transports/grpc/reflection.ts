import { setImmediate } from "node:timers/promises";
import { create, type DescFile, type DescMessage, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { OpenStreams } from "./open-streams.ts";
import { untilAborted } from "./routes.ts";
import { Reflections } from "./well-known.ts";

/** Maximum size of a reflection request, in bytes. It is small because these streams have no time limit. */
const readMaxBytes = 16_384;

/** Most streams: tools open one at a time. */
const maxStreams = 100;

/** How many questions of a stream are answered in one turn of the event loop. */
const perTurn = 16;

type Query = { case: string | undefined; value: unknown };
type Answer = { case: string; value: unknown };

/**
 * grpc.reflection.v1 and v1alpha over the descriptors of the services,
 * https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
 */
export function reflectionRoutes(router: ConnectRouter, ownServices: readonly DescService[], stopSignal: AbortSignal): void {
  const services = [...ownServices, ...Reflections];
  const files = new Map(services.flatMap((service) => withImports(service.file)).map((file) => [file.proto.name, file]));
  const symbols = new Map([...files.values()].flatMap(symbolsOf));
  const streams = new OpenStreams(maxStreams);
  for (const reflection of Reflections) {
    const response = (reflection.method.serverReflectionInfo as { output: DescMessage }).output;
    const service = {
      async *serverReflectionInfo(requests: AsyncIterable<{ host: string; messageRequest: Query }>) {
        using _ = streams.open();
        let requestCount = 0;
        // Clients keep this stream open for as long as they please.
        for await (const request of untilAborted(requests, stopSignal)) {
          // One packet can hold thousands of questions.
          if (++requestCount % perTurn === 0) await setImmediate();
          const messageResponse = answer(request.messageRequest, services, files, symbols);
          yield create(response, { validHost: request.host, originalRequest: request, messageResponse } as never);
        }
      },
    };
    router.service(reflection, service as never, { readMaxBytes });
  }
}

function answer(
  { case: kind, value }: Query,
  services: readonly DescService[],
  files: Map<string, DescFile>,
  symbols: Map<string, DescFile>,
): Answer {
  switch (kind) {
    case "listServices":
      return { case: "listServicesResponse", value: { service: services.map(({ typeName }) => ({ name: typeName })) } };
    case "fileByFilename":
      return describe(files.get(value as string), `no file "${value}"`);
    case "fileContainingSymbol":
      return describe(symbols.get((value as string).replace(/^\./, "")), `no symbol "${value}"`);
    case "allExtensionNumbersOfType":
      return symbols.has(value as string)
        ? { case: "allExtensionNumbersResponse", value: { baseTypeName: value, extensionNumber: [] } }
        : failure(Code.NotFound, `There is no type "${value}" here`);
    case "fileContainingExtension":
      return failure(Code.NotFound, "There are no extensions here");
    default:
      return failure(Code.InvalidArgument, "message_request: one of its members must be set");
  }
}

/** A file is returned together with its imports, so that one request is enough. */
function describe(file: DescFile | undefined, missing: string): Answer {
  if (!file) return failure(Code.NotFound, `There is ${missing} here`);
  return {
    case: "fileDescriptorResponse",
    value: { fileDescriptorProto: withImports(file).map(binaryOf) },
  };
}

const binaries = new WeakMap<DescFile, Uint8Array>();

/** Made once: it takes milliseconds, and anyone may ask for it. */
function binaryOf(file: DescFile): Uint8Array {
  const binary = binaries.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
  binaries.set(file, binary);
  return binary;
}

const failure = (errorCode: Code, errorMessage: string): Answer => ({
  case: "errorResponse",
  value: { errorCode, errorMessage },
});

const withImports = (file: DescFile): DescFile[] => [...new Set([file, ...file.dependencies.flatMap(withImports)])];

function symbolsOf(file: DescFile): [string, DescFile][] {
  const ofMessage = (message: DescMessage): string[] => [
    message.typeName,
    ...message.fields.map(({ name }) => `${message.typeName}.${name}`),
    ...message.nestedEnums.map(({ typeName }) => typeName),
    ...message.nestedMessages.flatMap(ofMessage),
  ];
  const names = [
    ...file.messages.flatMap(ofMessage),
    ...file.enums.map(({ typeName }) => typeName),
    ...file.services.flatMap(({ typeName, methods }) => [typeName, ...methods.map(({ name }) => `${typeName}.${name}`)]),
  ];
  return names.map((name) => [name, file]);
}
