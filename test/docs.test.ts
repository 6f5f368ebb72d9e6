import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { apiOperations } from "../src/api/operations.ts";
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
  const documented = namesIn("docs/alerts.md", "`summary` and `runbook_url` of a rule can hold");
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

/** The names of what an operation takes. */
function takenBy(schema: z.core.$ZodType | undefined): readonly string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap(takenBy))];
  return [];
}

it("every operation of the API is documented with what it takes, and nothing else", () => {
  const rows = Array.from(
    read("docs/api.md").matchAll(/^\| `(GET|POST) (\/api\S+)` +\|[^|]+\|([^|]*)\|$/gm),
    ([, method = "", path = "", taken = ""]) => [
      `${method} ${path}`,
      Array.from(taken.matchAll(/`(\w+)`/g), ([, name = ""]) => name),
    ],
  );
  const operations = apiOperations.map(({ method, path, query, body }) => [
    `${method} /api/v1${path}`,
    [...takenBy(query), ...takenBy(body)],
  ]);
  expect(rows).toEqual([...operations, ["GET /api/openapi.json", []]]);
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
