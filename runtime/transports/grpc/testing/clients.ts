import type { DescService } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { generateProto } from "../../../generate/proto.ts";
import type { FieldNumbers } from "../field-numbers.ts";
import { project } from "../projection.ts";
import { operations } from "./widgets.ts";

/** Field numbers of the example operations, which no file of this repository contains. */
export const numbers = JSON.parse(generateProto(operations, { messages: {}, enums: {} }).fieldNumbers) as FieldNumbers;
export const services = project(operations, numbers).map(({ desc }) => desc);
// The descriptors are created at run time, so there are no message types to check against.
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Loose = any;
export const client = (transport: Transport, name = "WidgetService"): Loose =>
  createClient(services.find((service) => service.name === name) as DescService, transport) as Client<DescService>;
export const grpc = (port: number) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
export const failure = async (call: Promise<unknown>): Promise<ConnectError> => {
  const error = await call.then(
    (answer) => new Error(`answered ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectError) return error;
  throw error;
};
export const collect = async (stream: AsyncIterable<Loose>) => {
  const all: Loose[] = [];
  for await (const message of stream) all.push(message);
  return all;
};
export const until = async (holds: () => Promise<boolean>) => {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error("did not come true within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
