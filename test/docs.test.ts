import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { describedSettings } from "../generate/config-schema.ts";
import { settingRows } from "../generate/settings-rows.ts";
import { pathFields } from "../src/api/operation.ts";
import { apiOperations } from "../src/api/operations.ts";
import { bodyVariables, incidentVariables, placeholders } from "../src/alerts/template.ts";
import { eventsQuery } from "../src/api/operations/events.ts";
import { matchFields } from "../src/alerts/silence.ts";

const root = join(import.meta.dirname, "..");

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

const documents = [
  "README.md",
  "CHANGELOG.md",
  ...globSync("docs/*.md", { cwd: root }).toSorted(),
  "bench/README.md",
  "test/sim/README.md",
];

/** The paragraph that begins with a text, with what it has in backticks. */
function namesIn(file: string, beginning: string): readonly string[] {
  const text = read(file);
  const start = text.indexOf(beginning);
  if (start === -1) throw new Error(`${file} has no "${beginning}"`);
  const [sentence = ""] = text.slice(start + beginning.length).split(/\.\s|,\s+each/);
  return Array.from(sentence.matchAll(/`\{?(\w+)\}?`/g), ([, name = ""]) => name).toSorted();
}

it.each([
  ["docs/alerts.md", "A `summary` or `runbook_url` can contain the placeholders", placeholders],
  ["docs/receivers.md", "The variables of a template are", bodyVariables],
  ["docs/receivers.md", "Each of `incidents` has", incidentVariables],
  ["docs/api.md", "`match` has the fields", matchFields],
] as const)("%s names all of them: %s", (file, beginning, names) => {
  expect(namesIn(file, beginning)).toEqual(names.toSorted());
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
  const operations = apiOperations.map(({ method, path, request }) => [
    `${method} /api/v1${path}`,
    takenBy(request).filter((field) => !pathFields(path).includes(field)),
  ]);
  expect(rows).toEqual([
    ...operations,
    ["GET /api/v1/events", takenBy(eventsQuery)],
    ["GET /api/openapi.json", []],
  ]);
});

it.each([
  ["alerts.rules", "docs/alerts.md"],
  ["alerts.maintenance", "docs/alerts.md"],
  ["alerts.receivers", "docs/receivers.md"],
])("each setting of %s is described in %s", (list, file) => {
  const text = read(file);
  const names = settingRows(describedSettings())
    .filter(({ path }) => path.startsWith(`${list}[].`))
    .map(({ path }) => path.slice(path.lastIndexOf(".") + 1));
  expect(names.length).toBeGreaterThan(10);
  const untold = names.filter((name) => !new RegExp(`\\W${name}[\`:]`).test(text));
  expect([...new Set(untold)]).toEqual([]);
});

it("the README leads to every document", () => {
  const linked = Array.from(
    read("README.md").matchAll(/\]\((docs\/[\w-]+\.md)/g),
    ([, to = ""]) => to,
  );
  const others = documents.filter((document) => document.startsWith("docs/"));
  expect([...new Set(linked)].toSorted()).toEqual(others.toSorted());
});

it("the README can be read in five minutes", () => {
  expect(read("README.md").split(/\s+/).length).toBeLessThan(600);
});

it.each(documents)("%s links only to files and headings that exist", (file) => {
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

it.each(documents)("%s names only files and folders that exist", (file) => {
  const paths = read(file).matchAll(/`((?:src|test|generate|config|bench)\/[\w./-]*)`/g);
  const missing = Array.from(paths, ([, path = ""]) => path).filter(
    (path) => !existsSync(join(root, path)),
  );
  expect(missing).toEqual([]);
});
