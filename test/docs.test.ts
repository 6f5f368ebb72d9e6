import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { bodyPlaceholders } from "../src/core/body-template.ts";
import { placeholders } from "../src/core/template.ts";
import { matchFields } from "../src/core/written-match.ts";

const root = join(import.meta.dirname, "..");

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

const documents = ["README.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];

/** The paragraph that begins with a text, with what it has in backticks. */
function namesIn(file: string, beginning: string): readonly string[] {
  const text = read(file);
  const start = text.indexOf(beginning);
  if (start === -1) throw new Error(`${file} has no "${beginning}"`);
  const [sentence = ""] = text.slice(start + beginning.length).split(/\.\s|,\s+each/);
  return Array.from(sentence.matchAll(/`\{?(\w+)\}?`/g), ([, name = ""]) => name).toSorted();
}

it("the placeholders of rules' texts are documented as they are", () => {
  const documented = namesIn("docs/alerting.md", "`summary` and `runbook_url` of a rule can hold");
  expect(documented).toEqual(placeholders.toSorted());
});

it("the placeholders of a webhook's own body are documented as they are", () => {
  const documented = namesIn("docs/receivers.md", "The placeholders are");
  expect(documented).toEqual(bodyPlaceholders.toSorted());
});

it("what a silence can match is documented as it is", () => {
  const documented = namesIn("docs/api.md", "`match` has the fields");
  expect(documented).toEqual(matchFields.toSorted());
});

it("every operation of the API is documented, and no other", () => {
  const room = "src/web/api";
  const routeFiles = readdirSync(join(root, room)).map((name) => read(join(room, name)));
  const routes = Array.from(
    routeFiles.join("").matchAll(/api\.(get|post)(?:<\w+>)?\("([^"]+)"/g),
    ([, method = "", path = ""]) => `${method.toUpperCase()} ${path.replace(/:(\w+)/, "{$1}")}`,
  );
  const documented = Array.from(
    read("docs/api.md").matchAll(/^\| `(GET|POST) \/api\/v1(\S+)`/gm),
    ([, method = "", path = ""]) => `${method} ${path.replace("{seq}", "{id}")}`,
  );
  expect(documented.toSorted()).toEqual(routes.toSorted());
});

it.each(documents)("%s links to files and headings that there are", (file) => {
  for (const [, link = ""] of read(file).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
    const [path = "", heading] = link.split("#");
    const linked = path === "" ? file : join(dirname(file), path);
    expect([link, existsSync(join(root, linked))]).toEqual([link, true]);
    if (heading === undefined) continue;
    const headings = Array.from(read(linked).matchAll(/^#+ (.+)$/gm), ([, text = ""]) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    expect([link, headings]).toEqual([link, expect.arrayContaining([heading])]);
  }
});
