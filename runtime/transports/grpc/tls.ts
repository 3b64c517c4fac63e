import { createSecureContext } from "node:tls";
import { type Config, ConfigError } from "../../platform/config.ts";
import { messageOf } from "../../platform/error-text.ts";
import { readRegularFile } from "../../platform/regular-file.ts";

/** The certificate of the gRPC port, if both files are named. */
export function tlsOf({ GRPC_TLS_CERT, GRPC_TLS_KEY }: Pick<Config, "GRPC_TLS_CERT" | "GRPC_TLS_KEY">) {
  if (!GRPC_TLS_CERT || !GRPC_TLS_KEY) return {};
  const tls = { cert: fileOf("GRPC_TLS_CERT", GRPC_TLS_CERT), key: fileOf("GRPC_TLS_KEY", GRPC_TLS_KEY) };
  try {
    createSecureContext(tls);
    return { tls };
  } catch (error) {
    throw new ConfigError(`GRPC_TLS_CERT and GRPC_TLS_KEY: ${messageOf(error)}`);
  }
}

function fileOf(name: string, path: string): Buffer {
  try {
    return readRegularFile(path);
  } catch (error) {
    throw new ConfigError(`${name}: ${messageOf(error)}`);
  }
}
