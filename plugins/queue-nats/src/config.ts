import { z } from "zod";

const name = (about: string, fallback: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]*$/, "must contain only letters, digits, _ and -")
    .default(fallback)
    .describe(about);

export const config = z.object({
  servers: z
    .string()
    .regex(/^$|^(nats|tls):\/\/[^\s,/]+:\d+(\s*,\s*(nats|tls):\/\/[^\s,/]+:\d+)*$/, "must be URLs with ports: nats://HOST:4222")
    .default("")
    .describe("URLs of the servers with their ports, comma-separated: nats://nats.example.com:4222; tls:// requires TLS."),
  stream: name(
    "Stream that receives events and executions. It is created if it does not exist. Default: signalbox.",
    "signalbox",
  ),
  subject: z
    .string()
    .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, "must be a subject without wildcards")
    .default("signalbox")
    .describe("Prefix of the subjects: signalbox.event.received, signalbox.execution.failed. Default: signalbox."),
  incoming_stream: name("Stream from which webhooks are received. Default: none.", ""),
  incoming_consumer: name(
    "Durable consumer of that stream. It is created if it does not exist. Default: signalbox.",
    "signalbox",
  ),
  incoming_webhook: z
    .string()
    .default("")
    .describe("Webhook of all messages, for example alpha. Default: the last token of their subject."),
});
export type Config = z.output<typeof config>;
