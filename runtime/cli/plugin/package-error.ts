import { CodedError } from "../../platform/coded-error.ts";

/** Why a package is refused: a code, and a message that names what was expected and what was found. */
export class PackageError extends CodedError<PackageErrorCode> {
  override readonly name = "PackageError";
}

/** The codes of all refusals of `plugin build`, `test`, `pack` and `install`, with their meanings. */
const packageErrorCodes = {
  NO_PACKAGE: "there is no package.json, or it cannot be read",
  BAD_PACKAGE: "package.json is missing a member that every plugin needs",
  BAD_MANIFEST: "the member signalbox of package.json, or dist/plugin.json, is invalid",
  NO_SOURCE: "there is no source file to bundle",
  CANNOT_BUNDLE: "the source cannot be bundled",
  FORBIDDEN_IMPORT: "the plugin imports a module that the sandbox does not have",
  RUNTIME_REQUIRE: "a CommonJS dependency loads modules at run time",
  COMPUTED_IMPORT: "a module is loaded by a name that is computed at run time",
  BUNDLE_SIZE: "the bundle is too large",
  NOT_SET_UP: "the bundle does not start in the sandbox",
  MISMATCH: "package.json and the plugin's declaration disagree",
  UNDECLARED_HOST: "definePlugin names a host that the manifest does not name",
  UNDECLARED_ROUTE: "a route needs no API key, and the manifest does not name it",
  NOTHING_CONTRIBUTED: "setup returned nothing",
  NOT_BUILT: "dist/plugin.json is missing, or belongs to another bundle",
  NO_CONFORMANCE: "test/conformance.ts is missing or exports no conformance",
  EXISTS: "the folder is in use",
  SYMLINK: "the package contains a symbolic link",
  BAD_TARBALL: "the tarball was not made by npm",
  INTEGRITY: "the content does not match its digest",
  OLDER: "the version is older than the active one",
  NOT_LOCKED: "the lock file of plugins could not be written",
  REGISTRY: "the registry does not return the package",
} as const;
export type PackageErrorCode = keyof typeof packageErrorCodes;
