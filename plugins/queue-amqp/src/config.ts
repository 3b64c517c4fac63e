import { z } from "zod";

const name = (about: string, fallback: string) =>
  z
    .string()
    .max(127)
    .regex(/^[\w.:-]*$/, "must contain only letters, digits, and . : _ -")
    .default(fallback)
    .describe(about);

export const config = z.object({
  url: z
    .string()
    .regex(
      /^$|^amqps?:\/\/[^\s,/@]+:\d+(\/[^\s/]*)?$/,
      "must be a URL with a port and without credentials: amqp://HOST:5672/VHOST",
    )
    .default("")
    .describe("URL of the broker with its port and virtual host: amqps://rabbitmq.example.com:5671/. Credentials are secrets."),
  exchange: name(
    "Topic exchange that receives events and executions. It is created if it does not exist. Default: signalbox.",
    "signalbox",
  ),
  stream: name(
    "Stream that is bound to the exchange and keeps its messages for seven days. Default: signalbox.events.",
    "signalbox.events",
  ),
  incoming_queue: name("Queue from which webhooks are received. It must exist. Default: none.", ""),
  incoming_webhook: z
    .string()
    .default("")
    .describe("Webhook of all messages, for example alpha. Default: the last word of their routing key."),
});
export type Config = z.output<typeof config>;
