import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { messageOf } from "../../platform/error-text.ts";
import { PackageError } from "./package-error.ts";

/** Maximum unpacked size of a tarball, in bytes. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Returns the files of an npm tarball by their path in the package. Writes no files, and refuses links. Throws a `PackageError`.
 */
export async function unpack(bytes: Uint8Array): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const tar = extract();
  tar.on("entry", (header, stream, next) => {
    const { name, type } = header;
    const chunks: Buffer[] = [];
    stream.on("data", (chunk) => chunks.push(chunk as Buffer));
    stream.on("error", next);
    stream.on("end", () => {
      // npm creates no tarballs with links, so such a tarball was created by hand.
      if (type === "symlink" || type === "link")
        return next(new PackageError("SYMLINK", `${name} is a link to ${header.linkname}.`));
      const path = name.replace(/^(\.\/)*[^/]+\//, "");
      if (type === "file" && files.has(path)) return next(new PackageError("BAD_TARBALL", `The tarball contains ${name} twice.`));
      if (type === "file") files.set(path, Buffer.concat(chunks));
      next();
    });
  });
  try {
    await new Promise<void>((done, fail) => {
      tar.on("finish", done).on("error", fail);
      Readable.from([gunzipSync(bytes, { maxOutputLength: maxBytes })]).pipe(tar);
    });
  } catch (error) {
    if (error instanceof PackageError) throw error;
    throw new PackageError(
      "BAD_TARBALL",
      `The tarball must be made by npm and have at most ${maxBytes} bytes: ${messageOf(error)}`,
    );
  }
  if (files.size === 0) throw new PackageError("BAD_TARBALL", "The tarball is empty.");
  return files;
}
