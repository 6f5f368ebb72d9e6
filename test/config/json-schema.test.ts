import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Ajv } from "ajv";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { valueAt } from "../../src/config/faults.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { configFolder, everyKind, faultCases } from "./support.ts";
import { pathOf, pathsIn, wholeExample, withAt } from "./support.ts";

const root = join(configFolder, "..");
const schemaFile = join(configFolder, "sandwatch.schema.json");

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

// The one word that JSON Schema does not know is for editors.
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, strictTypes: false });
ajv.addVocabulary(["errorMessage"]);
const validate = ajv.compile(JSON.parse(readFileSync(schemaFile, "utf8")));

/** What the JSON Schema finds fault with in a configuration, each as `/keys/0/name must be string`. */
function schemaFaults(value: unknown): readonly string[] {
  // As it would be in a file, where nothing is undefined.
  const written: unknown = JSON.parse(JSON.stringify(value));
  if (validate(written)) return [];
  // That a kind's schema does not fit says nothing beside why it does not.
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if");
  return faults.map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const isConfiguration = (text: string): boolean => /^regions:/m.test(text) && /^keys:/m.test(text);

const shipped = globSync("config/**/*.yaml", { cwd: root }).filter((path) =>
  isConfiguration(read(path)),
);

const bytes = (count: number): string => Buffer.alloc(count, 3).toString("base64");

/** Of all that people write into configurations: right in one place, wrong in others. */
const oddValues: readonly unknown[] = [
  [undefined, null, true, false, "", "on", "off", "true", "yes", [], {}],
  [0, 1, 2, 0.5, 1.5, -1, 100, 200, 404, 429, 499, 4_096, 1e6, 1e9, 2 ** 40],
  ["0", "1", "007", "0.5", "200", "404", "4096", "64MiB", "64mb", "1KB", "1GiB", "2GiB", "10B"],
  ["10s", "0s", "0ms", "500ms", "1h30m", "30m1h", "23h", "2d", "400d", "forever"],
  ["* * * * *", "*/5 * * * * *", "  * * * * * ", "@daily", "0 2 * * SUN", "0 0 2 * * SUN 2030"],
  ["UTC", "utc", "Europe/Berlin", "Etc/GMT+1", "+01:00"],
  ["a", "a b", "a*", "*", "us", "research", ".", "..", "日本", "x".repeat(64), "x".repeat(513)],
  ["info", "critical", "crit*", "error", "pool", "slack", "user", "sandboxes", "GET", "json"],
  ["https://x.example", " HTTPS://x.example/a ", "https:x.example", "https://x.example/?a#b"],
  ["https://u:p@x.example", "http://127.0.0.1:1", "ftp://x.example", "x.example"],
  ["127.0.0.1:0", ":0", "[::1]:9740", "10.0.0.0/8", "10.0.0.1/8", "::ffff:10.0.0.0/104", "::1"],
  ["{count} x", "{cnt} x", "{}", "a{b", "{a{count}}", "x\n{count}", "https://x/{rule}"],
  [`whsec_${bytes(32)}`, bytes(24), bytes(23), bytes(64), bytes(65), "0".repeat(32)],
  [["us"], ["us", "us"], ["a*"], [""], ["region", "key"], ["critical", "w*"], [{}], [1], [["a"]]],
  [["https://x.example"], ["x.example.com"], ["10.0.0.0/8"], { region: ["us", "e*"] }],
  [{ polls: 3 }, { polls: "3" }, { polls: 0 }, { above: 0.5 }, { below: "1" }],
  [{ changes: 1, within: "1h" }, { requests: "5" }, { text: "{{ summary }}" }, { text: "{{ x }}" }],
  [{ a: 1 }, { "a\\.b": { absent: true } }, { "a..b": 1 }, { x: { present: false } }, { x: [1] }],
  [{ us: { base_url: "https://x.example" }, "a b": { base_url: "https://x.example" } }],
].flat();

describe("the JSON Schema of the configuration", () => {
  it("is named in the first line of every configuration that there is", () => {
    expect(shipped.toSorted()).toEqual([
      "config/compose/simulated.yaml",
      "config/compose/standby.yaml",
      "config/kubernetes/example/sandwatch.yaml",
      "config/kubernetes/standby/sandwatch.yaml",
      "config/sandwatch.example.yaml",
    ]);
    for (const path of shipped) {
      const [, named = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(read(path)) ?? [];
      expect([path, resolve(root, dirname(path), named)]).toEqual([path, schemaFile]);
    }
  });

  it("goes with the package and the image", () => {
    const path = "config/sandwatch.schema.json";
    expect(JSON.parse(read("package.json"))).toMatchObject({
      files: expect.arrayContaining([path]),
    });
    expect(read("Dockerfile")).toContain(`COPY ${path} /app/config/\n`);
    expect(read(".dockerignore").split("\n")).toContain(`!${path}`);
  });

  it("takes each configuration that is shipped or documented, with its variables", () => {
    const documented = ["README.md", ...globSync("docs/*.md", { cwd: root })].flatMap((path) =>
      Array.from(read(path).matchAll(/```yaml\n([\s\S]*?)```/g), ([, text = ""]) => text),
    );
    for (const text of [...shipped.map(read), ...documented.filter(isConfiguration)]) {
      expect(schemaFaults(parse(text))).toEqual([]);
    }
  });

  it("takes a variable wherever there is one value", () => {
    const example = wholeExample();
    const changed = pathsIn(example)
      .filter((path) => path.at(-1) !== "present")
      .filter((path) => ["string", "number", "boolean"].includes(typeof valueAt(example, path)))
      .map((path) => withAt(example, path, "${NAME}"));
    expect(changed.length).toBeGreaterThan(100);
    expect(changed.flatMap((value) => schemaFaults(value))).toEqual([]);
  });

  it("takes all that sandwatch takes, whatever is changed in the example", () => {
    const example = wholeExample();
    expect(parseConfig(example)).toMatchObject({ kind: "ok" });
    const [, ...paths] = pathsIn(example);
    const anyChange = fc.tuple(fc.constantFrom(...paths), fc.constantFrom(...oddValues));
    fc.assert(
      fc.property(anyChange, ([path, value]) => {
        const changed = withAt(example, path, value);
        const faults = parseConfig(changed).kind === "ok" ? schemaFaults(changed) : [];
        expect(faults).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("an editor learns from the JSON Schema", () => {
  const [known = [], onlyKnownToSandwatch = []] = faultCases;
  const faultsAt = (path: string, value: unknown) =>
    schemaFaults(withAt(everyKind, pathOf(path), value));

  it.each([
    ...known,
    { path: "keys[0].api_key_file", value: "f" },
    { path: "alerts.receivers[0].type", value: undefined },
    { path: "alerts.receivers[0].urls", value: [] },
  ])("that $path cannot be $value, and nothing of other settings", ({ path, value }) => {
    const own = ["", ...pathOf(path).slice(0, -1)].join("/");
    const faults = faultsAt(path, value).map((fault) => fault.split(" ")[0] ?? "");
    expect(faults).not.toEqual([]);
    expect(faults.filter((at) => !own.startsWith(at) && !at.startsWith(own))).toEqual([]);
  });

  it("nothing of what only sandwatch knows", () => {
    const learnt = onlyKnownToSandwatch.filter(
      ({ path, value }) => faultsAt(path, value).length > 0,
    );
    expect(learnt).toEqual([]);
  });
});
