/** A webhook as a test puts it on a bus. */
export interface Sent {
  readonly id: string;
  readonly webhook: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A message broker of a test's own on loopback, with the plugin that connects it. It keeps what it acknowledged over `kill`. */
export interface Broker {
  /** Settings of the plugin. */
  readonly config: Readonly<Record<string, string>>;
  /** Puts webhooks where the plugin takes them; resolves once the broker has them. */
  send(webhooks: readonly Sent[]): Promise<void>;
  /** Ids of the CloudEvents that the plugin published, in the order of the stream. */
  published(): Promise<string[]>;
  /** How many webhooks are not acknowledged, once the service has disconnected. */
  waiting(): Promise<number>;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it again on its port, with what it kept. */
  start(): Promise<void>;
  close(): Promise<void>;
}
