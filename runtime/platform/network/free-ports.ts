import { createServer } from "node:net";
import { type Config, StartError } from "../config.ts";

/**
 * Throws a `StartError` if a port of the service is in use. Called before the start changes anything, so that the error does not
 * appear after minutes of migrations.
 */
export async function requireFreePorts(config: Pick<Config, "PORT" | "GRPC_PORT" | "HOST" | "API_KEYS">): Promise<void> {
  const host = config.HOST ?? (config.API_KEYS.length > 0 ? "0.0.0.0" : "127.0.0.1");
  for (const variable of ["PORT", "GRPC_PORT"] as const) {
    const port = config[variable];
    // Any free port.
    if (port === 0) continue;
    await listenOnce(port, host).catch((error) => {
      // Any other error of the address is reported when the service starts to listen.
      if (error.code === "EADDRINUSE") throw new StartError(`${variable}: cannot listen on port ${port}: ${error.message}`);
    });
  }
}

const listenOnce = (port: number, host: string): Promise<void> =>
  new Promise((done, fail) => {
    // A load balancer may probe the port now; its connection would delay closing the port.
    const server = createServer((socket) => socket.destroy());
    server.once("error", fail);
    server.listen(port, host, () => server.close(() => done()));
  });
