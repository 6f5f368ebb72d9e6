import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..");

/** The timeline of `explain` names what happened to a subject by words of the same form; these are not logged. */
const notLogged = new Set(["subject-events.ts"]);

const sources = globSync("src/**/*.ts", { cwd: root })
  .filter((path) => !notLogged.has(basename(path)))
  .map((path) => readFileSync(join(root, path), "utf8"));

/** The last part of an event that is put together is a key of the record of levels beside it. */
function namesIn(source: string): readonly string[] {
  const names = Array.from(
    source.matchAll(/\bevent(?::| =) (?:"(audit|[a-z]+\.[a-z_]+)"|`([a-z]+)\.\$\{\w+\}`)/g),
    ([, whole, first]) => (whole === undefined ? stepsIn(source, first ?? "") : [whole]),
  );
  return names.flat();
}

function stepsIn(source: string, first: string): readonly string[] {
  const [, record = ""] = /const levelOfStep = \{([^}]+)\}/.exec(source) ?? [];
  return Array.from(record.matchAll(/(\w+): "/g), ([, step = ""]) => `${first}.${step}`);
}

/** Events that are logged by a call which holds both the level and the name. */
function levelsIn(source: string): readonly (readonly [string, string])[] {
  return Array.from(
    source.matchAll(/\blog\.(debug|info|warn|error)\(\s*\{ event: "(audit|[a-z]+\.[a-z_]+)"/g),
    ([, level = "", name = ""]) => [name, level] as const,
  );
}

const documented = Array.from(
  readFileSync(join(root, "docs/log-events.md"), "utf8").matchAll(
    /^\| `(audit|[a-z]+\.[a-z_]+)` +\| ([a-z, ]+?) +\|/gm,
  ),
  ([, name = "", levels = ""]) => [name, levels.split(", ")] as const,
);

it("every log event has one row in docs/log-events.md, and every row is logged", () => {
  const logged = new Set(sources.flatMap(namesIn));
  expect(logged.size).toBeGreaterThan(50);
  expect(documented.map(([name]) => name).toSorted()).toEqual([...logged].toSorted());
});

it("log events are documented with their levels", () => {
  const levelsOf = new Map(documented);
  const calls = sources.flatMap(levelsIn);
  expect(calls.length).toBeGreaterThan(30);
  for (const [name, level] of calls) {
    expect([name, levelsOf.get(name)]).toEqual([name, expect.arrayContaining([level])]);
  }
});
