import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";

/**
 * Renders a chart as `helm template` does, as far as ours goes: blocks, variables, pipelines and the functions below. It throws for
 * anything else, so a template that uses more is noticed.
 */
export function renderChart(folder: string, values: object, release = "signalbox"): Record<string, unknown>[] {
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  const chart = parse(read("Chart.yaml")) as Record<string, unknown>;
  const capital = Object.fromEntries(
    Object.entries(chart).map(([name, value]) => [name.replace(/^./, (a) => a.toUpperCase()), value]),
  );
  const root = { Values: merged(parse(read("values.yaml")), values), Release: { Name: release }, Chart: capital };
  const templates = readdirSync(join(folder, "templates")).sort();
  const defined = new Map<string, Node[]>();
  const texts = templates.map((file) => {
    const scope: Scope = { dot: root, variables: new Map([["$", root]]), defined };
    return [file, render(parseTemplate(read(`templates/${file}`)), scope)] as const;
  });
  return texts
    .filter(([file]) => file.endsWith(".yaml"))
    .flatMap(([file, text]) =>
      parseAllDocuments(text).map((document) => {
        if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]?.message}\n${text}`);
        return document.toJS() as Record<string, unknown> | null;
      }),
    )
    .filter((object) => object !== null);
}

type Node = { readonly text: string } | { readonly action: string; readonly inner: Node[]; readonly otherwise: Node[] };
interface Scope {
  readonly dot: unknown;
  readonly variables: Map<string, unknown>;
  readonly defined: Map<string, Node[]>;
}

function merged(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...names].map((name) => [name, merged(base[name], over[name])]));
}
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parseTemplate(source: string): Node[] {
  const trimmed = source.replace(/\s*\{\{-/g, "{{").replace(/-\}\}\s*/g, "}}");
  const parts = trimmed.split(/\{\{([\s\S]*?)\}\}/);
  let at = 0;
  const block = (): { nodes: Node[]; end: string } => {
    const nodes: Node[] = [];
    for (; at < parts.length; at++) {
      const part = parts[at] ?? "";
      if (at % 2 === 0) {
        nodes.push({ text: part });
        continue;
      }
      const action = part.trim();
      if (action === "end" || action === "else") return { nodes, end: action };
      if (!/^(if|range|with|define) /.test(action)) {
        nodes.push({ action, inner: [], otherwise: [] });
        continue;
      }
      at++;
      const inner = block();
      at++;
      const otherwise = inner.end === "else" ? block() : null;
      if (otherwise) at++;
      at--;
      nodes.push({ action, inner: inner.nodes, otherwise: otherwise?.nodes ?? [] });
    }
    return { nodes, end: "" };
  };
  return block().nodes;
}

const render = (nodes: readonly Node[], scope: Scope): string =>
  nodes.map((node) => ("text" in node ? node.text : run(node, scope))).join("");

function run({ action, inner, otherwise }: Exclude<Node, { text: string }>, scope: Scope): string {
  const [word = "", ...words] = action.split(/\s+/);
  const rest = words.join(" ");
  const within = (dot: unknown, variables: readonly (readonly [string, unknown])[] = []) =>
    render(inner, { ...scope, dot, variables: new Map([...scope.variables, ...variables]) });
  if (word === "define") {
    scope.defined.set(JSON.parse(rest), inner);
    return "";
  }
  if (word === "if") return isTrue(evaluate(rest, scope)) ? within(scope.dot) : render(otherwise, scope);
  if (word === "with") {
    const value = evaluate(rest, scope);
    return isTrue(value) ? within(value) : render(otherwise, scope);
  }
  if (word === "range") {
    const [, names = "", of = rest] = /^((?:\$\w+(?:, )?)+) := (.*)$/.exec(rest) ?? [];
    const value = evaluate(of, scope);
    const [first, second] = names.split(", ");
    const pairs = Object.entries((value ?? {}) as object).sort(([a], [b]) => (Array.isArray(value) ? 0 : a < b ? -1 : 1));
    return pairs
      .map(([key, one]) =>
        within(
          one,
          second
            ? [
                [first ?? "", key],
                [second, one],
              ]
            : [[first ?? "", one]],
        ),
      )
      .join("");
  }
  const [, variable, of] = /^(\$\w+) := (.*)$/.exec(action) ?? [];
  if (variable) {
    scope.variables.set(variable, evaluate(of ?? "", scope));
    return "";
  }
  if (/^\/\*/.test(action)) return "";
  return String(evaluate(action, scope) ?? "");
}

const isTrue = (value: unknown): boolean =>
  Boolean(value) && !(typeof value === "object" && Object.keys(value as object).length === 0);

const functions: Readonly<Record<string, (...args: never[]) => unknown>> = {
  quote: (value: unknown) => JSON.stringify(String(value)),
  default: (other: unknown, value: unknown) => (isTrue(value) ? value : other),
  ternary: (yes: unknown, no: unknown, test: boolean) => (test ? yes : no),
  list: (...all: unknown[]) => all,
  printf: (format: string, ...args: unknown[]) =>
    args.reduce<string>((text, one) => text.replace(/%[sdv]/, () => String(one)), format),
  nindent: (count: number, text: string) => `\n${text.replace(/^/gm, " ".repeat(count))}`,
  toYaml: (value: unknown) => stringify(value).trimEnd(),
  not: (value: unknown) => !isTrue(value),
  and: (...all: unknown[]) => all.find((one) => !isTrue(one)) ?? all.at(-1),
  or: (...all: unknown[]) => all.find(isTrue) ?? all.at(-1),
  eq: (a: unknown, b: unknown) => a === b,
};

/** A pipeline: commands joined by `|`, each a value or a function with its arguments, the value before it the last of them. */
function evaluate(text: string, scope: Scope): unknown {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
  let at = 0;
  const pipeline = (): unknown => {
    let value = command([]);
    for (; tokens[at] === "|"; ) {
      at++;
      value = command([value]);
    }
    return value;
  };
  const one = (): unknown => {
    const token = tokens[at++] ?? "";
    if (token !== "(") return lookUp(token, scope);
    const value = pipeline();
    at++;
    return value;
  };
  const command = (piped: unknown[]): unknown => {
    const name = tokens[at] ?? "";
    const isCall = Object.hasOwn(functions, name) || name === "include";
    if (isCall) at++;
    const args: unknown[] = [];
    while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") args.push(one());
    if (!isCall) return args[0];
    if (name !== "include") return functions[name]?.(...([...args, ...piped] as never[]));
    const body = scope.defined.get(String(args[0]));
    if (!body) throw new Error(`include: there is no template ${args[0]}`);
    return render(body, { ...scope, dot: args[1] }).trim();
  };
  return pipeline();
}

function lookUp(token: string, { dot, variables }: Scope): unknown {
  if (token.startsWith('"')) return JSON.parse(token);
  if (/^-?\d+$/.test(token)) return Number(token);
  if (token === "true" || token === "false") return token === "true";
  const [, start = "", path = ""] = /^(\$\w*)?(?:\.(.*))?$/.exec(token) ?? [];
  if (!/^[.$]/.test(token)) throw new Error(`the template uses ${JSON.stringify(token)}, which this renderer does not know`);
  if (start && !variables.has(start)) throw new Error(`there is no variable ${start}`);
  const members = path.split(".").filter(Boolean);
  return members.reduce<unknown>(
    (value, name) => (value as Record<string, unknown> | undefined)?.[name],
    start ? variables.get(start) : dot,
  );
}
