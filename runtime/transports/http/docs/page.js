// The reference in a browser: reads /openapi.json and shows every operation, with a form to try it. No other host is called.
const main = document.querySelector("#operations");
const search = document.querySelector("#search");
const key = document.querySelector("#key");
/** A schema that names others is shown to this depth. */
const maxDepth = 6;

/** An element with attributes and children. Texts become text nodes, so nothing in the document is read as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function typeOf(schema, document, depth = 0) {
  if (!schema) return "anything";
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    const target = document.components?.schemas?.[name];
    return depth >= maxDepth || !target ? name : typeOf(target, document, depth + 1);
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((one) => typeOf(one, document, depth)).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, document, depth)).join(" & ");
  if (schema.type === "array") return `${typeOf(schema.items, document, depth)}[]`;
  if (schema.properties) return objectText(schema, document, depth);
  if (Array.isArray(schema.type)) return schema.type.join(" | ");
  return schema.format ? `${schema.type} (${schema.format})` : (schema.type ?? "anything");
}

function objectText(schema, document, depth) {
  const indent = "  ".repeat(depth + 1);
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties).map(([name, member]) => {
    const about = member.description ? `  // ${member.description}` : "";
    return `${indent}${name}${required.has(name) ? "" : "?"}: ${typeOf(member, document, depth + 1)}${about}`;
  });
  return `{\n${lines.join("\n")}\n${"  ".repeat(depth)}}`;
}

function parameterTable(parameters, document) {
  const rows = parameters.map((one) => {
    const named = element("td", {}, element("code", {}, one.name), one.required ? " (required)" : "");
    const about = one.description ?? one.schema?.description ?? "";
    return element(
      "tr",
      {},
      named,
      element("td", {}, one.in),
      element("td", {}, typeOf(one.schema, document)),
      element("td", {}, about),
    );
  });
  const head = ["Name", "In", "Type", "What it is"].map((title) => element("th", { scope: "col" }, title));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

function responseParts(responses, document) {
  return Object.entries(responses).map(([status, response]) => {
    const schema = response.content?.["application/json"]?.schema;
    const title = element("p", {}, element("strong", {}, status), ` ${response.description}`);
    return element("div", {}, title, schema && Number(status) < 300 ? element("pre", {}, typeOf(schema, document)) : null);
  });
}

/** A form that sends the operation with the values of its fields, and shows the answer. */
function tryForm(method, path, operation) {
  const fields = new Map();
  const field = (name, control) => {
    fields.set(name, control);
    return element("label", {}, name, control);
  };
  const parameters = (operation.parameters ?? []).filter((one) => one.in === "path" || one.in === "query");
  const inputs = parameters.map((one) => field(one.name, element("input", { autocomplete: "off" })));
  const body = operation.requestBody ? element("textarea", { rows: "6", spellcheck: "false" }) : null;
  if (body) body.value = "{}";
  const answer = element("pre", { hidden: "", tabindex: "0", "aria-live": "polite" });
  const label = body ? element("label", {}, "Body (JSON)", body) : null;
  const form = element("form", {}, ...inputs, label, element("button", {}, "Send"), answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const value = (name) => fields.get(name)?.value ?? "";
    const target = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(value(name)));
    const query = new URLSearchParams(
      parameters.filter((one) => one.in === "query" && value(one.name) !== "").map((one) => [one.name, value(one.name)]),
    );
    const headers = {
      ...(key.value && { authorization: `Bearer ${key.value}` }),
      ...(body && { "content-type": "application/json" }),
    };
    answer.hidden = false;
    answer.textContent = "…";
    try {
      const address = query.size > 0 ? `${target}?${query}` : target;
      const response = await fetch(address, { method: method.toUpperCase(), headers, ...(body && { body: body.value }) });
      const text = await response.text();
      answer.textContent = `${response.status} ${response.statusText}\n\n${readable(text)}`;
    } catch (error) {
      answer.textContent = String(error);
    }
  });
  return form;
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function operationPart(method, path, operation, document) {
  const title = element("span", { class: "method" }, method.toUpperCase());
  const summary = element("summary", {}, title, element("code", {}, path), ` ${operation.summary ?? ""}`);
  const part = element("details", { id: operation.operationId }, summary);
  // Built when it is opened: there are more than a hundred.
  part.addEventListener(
    "toggle",
    () => {
      const scopes = (operation.security ?? []).flatMap((one) => Object.values(one).flat());
      const schema = operation.requestBody?.content?.["application/json"]?.schema;
      const parameters = operation.parameters ?? [];
      part.append(
        element(
          "div",
          {},
          element(
            "p",
            { class: "muted" },
            `${operation.operationId}${scopes.length > 0 ? `, needs the scope ${scopes.join(", ")}` : ""}`,
          ),
          parameters.length > 0 ? parameterTable(parameters, document) : null,
          schema ? element("h4", {}, "Body") : null,
          schema ? element("pre", {}, typeOf(schema, document)) : null,
          element("h4", {}, "Answers"),
          ...responseParts(operation.responses, document),
          element("h4", {}, "Try it"),
          tryForm(method, path, operation),
        ),
      );
    },
    { once: true },
  );
  return part;
}

function show(document) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "other";
      groups.set(tag, [
        ...(groups.get(tag) ?? []),
        {
          text: `${method} ${path} ${operation.summary} ${operation.operationId}`.toLowerCase(),
          part: operationPart(method, path, operation, document),
        },
      ]);
    }
  const sorted = [...groups].sort(([a], [b]) => a.localeCompare(b));
  const sections = sorted.map(([tag, operations]) => ({
    operations,
    section: element("section", {}, element("h2", { id: `group-${tag}` }, tag), ...operations.map(({ part }) => part)),
  }));
  main.replaceChildren(...sections.map(({ section }) => section));
  const links = sorted.map(([tag]) => element("li", {}, element("a", { href: `#group-${tag}` }, tag)));
  globalThis.document.querySelector("#groups").replaceChildren(...links);
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    for (const { section, operations } of sections) {
      for (const { text, part } of operations) part.hidden = !words.every((word) => text.includes(word));
      section.hidden = operations.every(({ part }) => part.hidden);
    }
  });
  openLinked();
}

/** Opens the operation that the address names, for example /docs#agents.create. */
function openLinked() {
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (linked instanceof HTMLDetailsElement) linked.open = true;
  linked?.scrollIntoView();
}
addEventListener("hashchange", openLinked);

fetch("/openapi.json")
  .then((response) => response.json())
  .then(show)
  .catch((error) => main.replaceChildren(element("p", { role: "alert" }, `/openapi.json could not be read: ${error}`)));
