// Prints every text that users can see, with its place: `node test/messages.ts [part of a path or kind]`. It allows reading all
// texts at once.
import ts from "@typescript/typescript6";
import { files, isGenerated, isTest, textOf } from "./architecture/tree.ts";

export type Kind = "error" | "log" | "description" | "text" | "page" | "comment";
export interface Message {
  /** `path:line` */
  readonly place: string;
  readonly kind: Kind;
  /** As in the source; `${…}` for inserted values. */
  readonly text: string;
}

const product = /^(runtime|sdk|schema|plugins|examples)\//;
const sql = /^\s*(select|insert into|update|delete from|with|create|alter|drop|truncate|lock|notify|set) /i;
/** A text has at least two words; otherwise it is a name. */
const isProse = (text: string): boolean => /[a-z]{2,}[,:;]? [a-z]{2,}/i.test(text) && !sql.test(text);

/** The texts of the code: errors, descriptions of the schemas, help, log messages. */
export function messagesOf(path: string, code: string): Message[] {
  const file = ts.createSourceFile(path, code, ts.ScriptTarget.Latest, true);
  const found: Message[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    // The parts of a composed text are one text.
    const text = wholeText(node);
    if (text !== null && !isSqlTag(node)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      if (isProse(text)) found.push({ place: `${path}:${line}`, kind: kindOf(node), text });
    }
    if (text === null || ts.isTemplateExpression(node)) ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function wholeText(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isJsxText(node)) return node.text.trim().replaceAll(/\s+/g, " ");
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => `\${…}${literal.text}`).join("");
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return null;
  const [left, right] = [wholeText(node.left), wholeText(node.right)];
  return left === null || right === null ? null : left + right;
}

const isSqlTag = (node: ts.Node): boolean => ts.isTaggedTemplateExpression(node.parent) && node.parent.template === node;

/** The kind of a text, from the nearest enclosing code that determines it. */
function kindOf(node: ts.Node): Kind {
  for (let at: ts.Node = node; at.parent; at = at.parent) {
    const { parent } = at;
    if (ts.isThrowStatement(parent) || (ts.isNewExpression(parent) && /Error|Refusal|Fault/.test(parent.expression.getText())))
      return "error";
    if (ts.isPropertyAssignment(parent) && /^(description|summary|about|title|why)$/.test(parent.name.getText()))
      return "description";
    if (!ts.isCallExpression(parent)) continue;
    const called = parent.expression.getText();
    if (/(^|\.)(problem|fieldProblem|invalid|refuse|fail)$/.test(called)) return "error";
    if (/(^|[lL]og)\.(info|warn|error)$/.test(called)) return "log";
    if (/\.(describe|meta)$/.test(called)) return "description";
  }
  return "text";
}

/** The lines of the pages that users read. */
const pagesOf = (path: string): Message[] =>
  textOf(path)
    .split("\n")
    .map((text, index) => ({ place: `${path}:${index + 1}`, kind: "page" as const, text }))
    .filter(({ text }) => isProse(text));

/** The comments of a source file, line by line. Engineers read them, so the banned phrasings apply to them too. */
export const commentsOf = (path: string): Message[] =>
  textOf(path)
    .split("\n")
    .flatMap((line, index) => {
      const text = /^\s*(?:\/\*\*?|\*|\/\/|--)\s(.*)$/.exec(line)?.[1];
      return text ? [{ place: `${path}:${index + 1}`, kind: "comment" as const, text }] : [];
    });

const databaseFunctions = "schema/gen/schema.sql";

/** The texts that functions of the database write, such as why an event was discarded. */
const textsOfFunctions = (): Message[] =>
  textOf(databaseFunctions)
    .split("\n")
    .flatMap((line, index) =>
      [...line.matchAll(/'((?:[^']|'')*)'/g)].map(([, text = ""]) => {
        return { place: `${databaseFunctions}:${index + 1}`, kind: "text" as const, text: text.replaceAll("''", "'") };
      }),
    )
    .filter(({ text }) => isProse(text));

export function allMessages(): Message[] {
  const sources = files.filter((path) => product.test(path) && /\.tsx?$/.test(path) && !isGenerated(path) && !isTest(path));
  const pages = files.filter((path) => path.endsWith(".md") && !isGenerated(path) && path !== "sdk/api-report.md");
  return [...sources.flatMap((path) => messagesOf(path, textOf(path))), ...textsOfFunctions(), ...pages.flatMap(pagesOf)];
}

if (import.meta.main) {
  const wanted = process.argv[2] ?? "";
  for (const { place, kind, text } of allMessages())
    if (place.includes(wanted) || kind === wanted) console.log(`${place} ${kind}: ${text.trim()}`);
}
