import { dirname } from "node:path";
import { maxBundleBytes } from "@signalbox/sdk/manifest";
import { messageOf } from "../platform/error-text.ts";
import { Refusal } from "./admit.ts";

/**
 * Bundles a module and all its imports into one file. Used for plugins that were not built; `signalbox plugin build` creates the
 * real bundle.
 */
export async function bundleOf(file: string): Promise<Uint8Array> {
  const esbuild = await import("esbuild").catch(() => null);
  if (!esbuild)
    throw new Refusal(
      "NOT_BUILT",
      `${file} is not a built plugin, and there is no esbuild here to bundle it; run signalbox plugin build in its folder.`,
    );
  try {
    const { outputFiles } = await esbuild.build({
      entryPoints: [file],
      // Removes comments of the bundle that contain paths, so that the same files have the same digest on every machine.
      absWorkingDir: dirname(file),
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      target: "es2024",
      legalComments: "none",
      mainFields: ["module", "main"],
      conditions: ["import"],
      external: ["node:*"],
      logLevel: "silent",
      // The author's compiler options must not apply here.
      tsconfigRaw: "{}",
    });
    const bytes = outputFiles[0]?.contents ?? new Uint8Array();
    if (bytes.byteLength > maxBundleBytes)
      throw new Refusal(
        "NOT_BUILT",
        `${file}: its bundle must have at most ${maxBundleBytes} bytes; it has ${bytes.byteLength}.`,
      );
    return bytes;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("NOT_FOUND", `${file} could not be bundled: ${messageOf(error)}`, error);
  }
}
