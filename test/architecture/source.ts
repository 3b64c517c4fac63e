import { posix } from "node:path";
import ts from "@typescript/typescript6";

export interface Import {
  /** The path in the import, unchanged. */
  readonly from: string;
  /** Path of the file in this repository; null for a package. */
  readonly file: string | null;
}

/** The facts about one TypeScript file that the rules check. */
export interface Source {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly { readonly name: string; readonly lines: number }[];
  readonly hasDefaultExport: boolean;
  /** Whether it contains only `export … from`, or an `export *`. */
  readonly isBarrel: boolean;
  /** Lines that contain SQL. */
  readonly sql: readonly number[];
  /** Lines that read the environment. */
  readonly environment: readonly number[];
  /** Fields that calls of a log or of the watchdog pass, by name and line. */
  readonly logFields: readonly { readonly name: string; readonly line: number }[];
}

const statement =
  /^\s*(select|insert into|update|delete from|with|create|alter|drop|truncate|listen|notify|begin|commit|rollback)\b/i;

export function readSource(path: string, text: string): Source {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineOf = (node: ts.Node) => file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
  const height = (node: ts.Node) => file.getLineAndCharacterOfPosition(node.getEnd()).line + 2 - lineOf(node);
  const functions: { name: string; lines: number }[] = [];
  const sql: number[] = [];
  const environment: number[] = [];
  const logFields: { name: string; line: number }[] = [];
  const imports: Import[] = [];
  const visit = (node: ts.Node): void => {
    const found = importOf(node, path);
    if (found) imports.push(found);
    if (ts.isFunctionLike(node) && "body" in node && node.body) functions.push({ name: nameOf(node), lines: own(node, height) });
    if (isSql(node)) sql.push(lineOf(node));
    if (ts.isPropertyAccessExpression(node) && /^(process|Deno|import\.meta)\.env$/.test(node.getText()))
      environment.push(lineOf(node));
    for (const field of fieldsOf(node)) logFields.push({ name: field.name?.getText() ?? "", line: lineOf(field) });
    ts.forEachChild(node, visit);
  };
  visit(file);
  const exported = file.statements.filter(ts.isExportDeclaration);
  return {
    path,
    imports,
    functions,
    sql,
    environment,
    logFields,
    lines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0),
    hasDefaultExport: file.statements.some(isDefaultExport),
    isBarrel:
      (exported.length > 0 && exported.length === file.statements.length && exported.every((one) => one.moduleSpecifier)) ||
      exported.some((one) => one.moduleSpecifier && !one.exportClause && !one.isTypeOnly),
  };
}

function importOf(node: ts.Node, path: string): Import | null {
  const declared = ts.isImportDeclaration(node) || ts.isExportDeclaration(node);
  const called = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  const target = declared ? node.moduleSpecifier : called ? node.arguments[0] : undefined;
  if (!target || !ts.isStringLiteral(target)) return null;
  const from = target.text;
  return { from, file: from.startsWith(".") ? posix.join(posix.dirname(path), from) : null };
}

/** Lines of a function without those of inner functions, which are counted separately. */
function own(node: ts.Node, height: (node: ts.Node) => number): number {
  let lines = height(node);
  const without = (child: ts.Node): void => {
    if (ts.isFunctionLike(child) && "body" in child && child.body) lines -= height(child) - 1;
    else ts.forEachChild(child, without);
  };
  ts.forEachChild(node, without);
  return lines;
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (node.name) return node.name.getText();
  return ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : "(anonymous)";
}

/** A tagged template that begins like a statement, or a text that is passed to the driver unchanged. */
function isSql(node: ts.Node): boolean {
  if (ts.isTaggedTemplateExpression(node))
    return !node.tag.getText().startsWith("String") && statement.test(node.template.getText().slice(1));
  return ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === "unsafe";
}

const reporters = /^(info|warn|error|alarm|inform)$/;

/** The members of the object that `log.warn("…", {…})` or `alarm("…", {…})` passes. */
function fieldsOf(node: ts.Node): readonly ts.ObjectLiteralElementLike[] {
  if (!ts.isCallExpression(node)) return [];
  const name = ts.isPropertyAccessExpression(node.expression) ? node.expression.name : node.expression;
  if (!reporters.test(name.getText())) return [];
  return node.arguments.filter(ts.isObjectLiteralExpression).flatMap(({ properties }) => [...properties]);
}

const isDefaultExport = (node: ts.Statement): boolean =>
  ts.isExportAssignment(node) ||
  (ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some((one) => one.kind === ts.SyntaxKind.DefaultKeyword));

/** Import cycles, each as the list of its files. Type imports count too, because a reader must follow them as well. */
export const cycles = (all: readonly Source[]): string[] =>
  cyclesOf(new Map(all.map(({ path, imports }) => [path, imports.flatMap(({ file }) => file ?? [])])));

/** The cycles of a graph, each as the list of its nodes. */
export function cyclesOf(next: ReadonlyMap<string, Iterable<string>>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (node: string, trail: readonly string[]): void => {
    const start = trail.indexOf(node);
    if (start >= 0) found.push([...trail.slice(start), node].join(" → "));
    if (start >= 0 || done.has(node)) return;
    for (const one of next.get(node) ?? []) walk(one, [...trail, node]);
    done.add(node);
  };
  for (const node of next.keys()) walk(node, []);
  return found;
}

/** The name of the package that an import names. */
export const packageOf = (from: string): string =>
  from
    .split("/")
    .slice(0, from.startsWith("@") ? 2 : 1)
    .join("/");
