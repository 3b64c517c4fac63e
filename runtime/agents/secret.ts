import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(scrypt) as (secret: string, salt: Buffer, length: number) => Promise<Buffer>;

/** `scrypt:<salt>:<hash>`, base64url. Slow by design: people choose these secrets. */
export async function hashSecret(secret: string): Promise<string> {
  const salt = randomBytes(16);
  return `scrypt:${salt.toString("base64url")}:${(await derive(secret, salt, 32)).toString("base64url")}`;
}

/** Takes constant time, with and without a hash, so timing does not reveal which agents have a secret. */
export async function matchesSecret(secret: string, hash: string | null): Promise<boolean> {
  const [, salt = "", wanted = ""] = (hash ?? "scrypt:AAAAAAAAAAAAAAAAAAAAAA:").split(":");
  const got = await derive(secret, Buffer.from(salt, "base64url"), 32);
  const expected = Buffer.alloc(32);
  expected.write(wanted, "base64url");
  return timingSafeEqual(got, expected) && wanted !== "";
}
