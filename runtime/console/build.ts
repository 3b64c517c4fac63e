import { fileURLToPath } from "node:url";
import { sha256Of } from "../platform/digest.ts";

/** A file that browsers load. Its name contains a hash of its content. */
interface ConsoleFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const folder = fileURLToPath(new URL("./client/", import.meta.url));

/**
 * Bundles the client. When the service runs from its sources, this happens at the first request of a browser and takes a fraction
 * of a second, so no build step is needed. `npm run build` does it for the package.
 */
export async function buildConsole(): Promise<ConsoleFile[]> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: { main: "main.tsx", style: "style/main.css" },
    outdir: "out",
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "eof",
    logLevel: "silent",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
  });
  const files = outputFiles.map(({ path, contents }) => ({ name: path.replace(/^.*[\\/]/, ""), bytes: contents }));
  return [...files, icon()];
}

/** A railway signal with two lamps. */
function icon(): ConsoleFile {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1c1e26"/><circle cx="16" cy="10" r="5" fill="#3ecf8e"/><circle cx="16" cy="22" r="5" fill="#5b6072"/></svg>';
  const bytes = Buffer.from(svg);
  return { name: `icon-${sha256Of(bytes).slice(0, 8).toUpperCase()}.svg`, bytes };
}
