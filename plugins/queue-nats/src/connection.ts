import {
  type Authenticator,
  credsAuthenticator,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "@nats-io/nats-core/internal";
import { type Capabilities, PluginError } from "@signalbox/sdk";
import type { Config } from "./config.ts";
import { HostTransport } from "./transport.ts";

const connectMs = 5_000;

/** One connection to the servers. It is opened when it is first used, and again after it was lost. */
export interface Connection {
  get(): Promise<NatsConnection>;
  close(): Promise<void>;
}

/** The host's own errors name the server that could not be reached. */
function refusalOf(error: Error): PluginError {
  const { message } = error;
  const text = / could not be reached/.test(message)
    ? `NATS: ${message}`
    : /authorization|authentication/i.test(message)
      ? `NATS refused the login; correct the settings user and password, token or credentials (${message})`
      : `NATS could not be reached: ${message}`;
  return new PluginError("unavailable", text, { cause: error });
}

type Needs = Pick<Capabilities, "tcp" | "secret" | "log">;

export function openConnection({ tcp, secret, log }: Needs, { servers }: Config): Connection {
  let currentConnection: Promise<NatsConnection> | null = null;
  const connect = async (): Promise<NatsConnection> => {
    if (servers === "") throw new PluginError("not_configured", "Set servers, for example nats://nats.example.com:4222");
    setTransportFactory({ factory: () => new HostTransport(tcp), defaultPort: 4222 });
    const authenticator = await authenticatorOf(secret);
    try {
      const connection = await NatsConnectionImpl.connect({
        servers: servers.split(",").map((one) => one.trim()),
        name: "signalbox",
        timeout: connectMs,
        // The host only allows the servers in the settings. The next call reopens a lost connection.
        ignoreClusterUpdates: true,
        reconnect: false,
        maxReconnectAttempts: 0,
        pingInterval: 10_000,
        ...(authenticator && { authenticator }),
      });
      void connection.closed().then((error) => {
        if (error) log("the connection to NATS was lost", { error: error.message });
        currentConnection = null;
      });
      return connection;
    } catch (error) {
      throw refusalOf(error as Error);
    }
  };
  return {
    get: () => {
      if (currentConnection) return currentConnection;
      const connecting = connect();
      currentConnection = connecting;
      connecting.catch(() => {
        if (currentConnection === connecting) currentConnection = null;
      });
      return connecting;
    },
    close: async () => {
      await (await currentConnection?.catch(() => null))?.close();
    },
  };
}

async function authenticatorOf(secret: Capabilities["secret"]): Promise<Authenticator | null> {
  const credentials = await secret("credentials");
  if (credentials) return credsAuthenticator(new TextEncoder().encode(credentials));
  const token = await secret("token");
  if (token) return tokenAuthenticator(token);
  const user = await secret("user");
  return user ? usernamePasswordAuthenticator(user, (await secret("password")) ?? "") : null;
}
