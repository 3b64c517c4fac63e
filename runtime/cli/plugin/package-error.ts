import { CodedError } from "../../platform/coded-error.ts";

/** Why a package is not taken: a code to look up, and what was expected and what came. */
export class PackageError extends CodedError<PackageErrorCode> {
  override readonly name = "PackageFault";
}

/** Every refusal of `plugin build`, `test`, `pack` and `install`, with what it means. */
export const packageErrorCodes = {
  NO_PACKAGE: "there is no package.json, or it cannot be read",
  BAD_PACKAGE: "package.json is missing something that every plugin needs",
  BAD_MANIFEST: "the member signalbox of package.json, or dist/plugin.json, is not valid",
  NO_SOURCE: "there is no source file to bundle",
  CANNOT_BUNDLE: "the source cannot be bundled",
  FORBIDDEN_IMPORT: "something is imported that the sandbox does not have",
  RUNTIME_REQUIRE: "a CommonJS dependency loads modules at run time",
  COMPUTED_IMPORT: "a module is loaded whose name is known at run time only",
  BUNDLE_SIZE: "the bundle is too large",
  NOT_SET_UP: "the bundle does not start in the sandbox",
  MISMATCH: "package.json and the plugin's declaration disagree",
  UNDECLARED_HOST: "the declaration names a host that the manifest does not",
  UNDECLARED_ROUTE: "a route is open to everyone, and the manifest does not name it",
  NOTHING_CONTRIBUTED: "setup returned nothing",
  NOT_BUILT: "dist/plugin.json is missing, or not of this bundle",
  NO_CONFORMANCE: "test/conformance.ts is missing or exports no conformance",
  EXISTS: "the folder is in use",
  SYMLINK: "a symbolic link is where a file should be",
  BAD_TARBALL: "the tarball is not one of npm's",
  INTEGRITY: "what came is not what was promised",
  OLDER: "an upgrade is to a version before the one that serves",
  REGISTRY: "the registry does not give the package",
} as const;
export type PackageErrorCode = keyof typeof packageErrorCodes;
