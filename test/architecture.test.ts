import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");

/** Which other folders of `src` each may import. `fleet` and `alerts` are pure; the edges do not import each other. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  fleet: [],
  alerts: ["fleet"],
  lib: ["fleet"],
  cluster: ["fleet", "lib"],
  // Edges. The store writes what `alerts` decides, and receivers read their settings.
  service: ["fleet", "lib"],
  store: ["alerts", "fleet", "lib"],
  metrics: ["alerts", "fleet", "lib"],
  notify: ["alerts", "config", "fleet", "lib"],
  web: ["alerts", "api", "fleet", "lib", "reports"],
  config: ["alerts", "fleet", "lib", "service"],
  polling: ["alerts", "fleet", "lib", "metrics", "service"],
  reports: ["alerts", "config", "fleet", "lib", "metrics", "store"],
  api: ["alerts", "cluster", "config", "fleet", "lib", "polling", "reports", "service", "store"],
  client: ["config", "fleet", "lib", "service"],
  simulator: ["fleet", "lib", "service"],
};
/** Whose types each may import, but no code. */
const typesAllowed: Readonly<Record<string, readonly string[]>> = {
  notify: ["store"],
  polling: ["store"],
};
/** They join the others. */
const joining = new Set(["app", "cli", "."]);

/** Each file of `src` with what it imports. */
const imports = new Map(
  globSync("src/**/*.{ts,js}", { cwd: root }).map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const found = text.matchAll(/(?:\bfrom|\bimport|\bimport\() ?"([^"]+)"/g);
    return [file, Array.from(found, ([, name = ""]) => name)] as const;
  }),
);

const isRelative = (name: string): boolean => name.startsWith(".");

function importedFiles(file: string): readonly string[] {
  const names = imports.get(file) ?? [];
  return names.filter(isRelative).map((name) => normalize(join(dirname(file), name)));
}

/** Those of which nothing is left when types are removed. */
function filesOfTypes(file: string): ReadonlySet<string> {
  const text = readFileSync(join(root, file), "utf8");
  const statements = text.matchAll(/^import (type )?[^;"]*"(\.[^"]+)"/gm);
  const found = Array.from(statements, ([, type, name = ""]) => ({
    name,
    isType: type !== undefined,
  }));
  const ofCode = new Set(found.filter(({ isType }) => !isType).map(({ name }) => name));
  const ofTypes = found.filter(({ name }) => !ofCode.has(name)).map(({ name }) => name);
  return new Set(ofTypes.map((name) => normalize(join(dirname(file), name))));
}

function folderOf(file: string): string {
  return dirname(file).split("/")[1] ?? ".";
}

/** A way from a node back to itself. */
function findCircle(edges: ReadonlyMap<string, Iterable<string>>): readonly string[] | null {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): readonly string[] | null => {
    const at = path.indexOf(node);
    if (at >= 0) return [...path.slice(at), node];
    if (done.has(node)) return null;
    for (const next of edges.get(node) ?? []) {
      const circle = visit(next, [...path, node]);
      if (circle) return circle;
    }
    done.add(node);
    return null;
  };
  for (const node of edges.keys()) {
    const circle = visit(node, []);
    if (circle) return circle;
  }
  return null;
}

describe("the architecture", () => {
  it("has no file that imports itself through others", () => {
    const edges = new Map([...imports.keys()].map((file) => [file, importedFiles(file)]));
    expect(findCircle(edges)).toBeNull();
  });

  it("has no folder that imports itself through others", () => {
    const edges = new Map<string, Set<string>>();
    for (const file of imports.keys()) {
      const folder = folderOf(file);
      const others = edges.get(folder) ?? new Set();
      edges.set(folder, others);
      for (const other of importedFiles(file).map(folderOf))
        if (other !== folder) others.add(other);
    }
    expect(findCircle(edges)).toBeNull();
  });

  it("lets each folder import only what its place allows", () => {
    const forbidden = [...imports.keys()].flatMap((file) => {
      const folder = folderOf(file);
      if (joining.has(folder)) return [];
      const ofTypes = filesOfTypes(file);
      const mayType = (other: string): boolean =>
        ofTypes.has(other) && (typesAllowed[folder] ?? []).includes(folderOf(other));
      return importedFiles(file)
        .filter((other) => folderOf(other) !== folder && !mayType(other))
        .filter((other) => !(allowed[folder] ?? []).includes(folderOf(other)))
        .map((other) => `${file} imports ${other}`);
    });
    expect(forbidden).toEqual([]);
  });

  it("has modules of pages that import only one another and uplot", () => {
    const forbidden = [...imports].flatMap(([file, names]) =>
      file.startsWith("src/web/browser/")
        ? names
            .filter((name) => !/^\.\/[\w-]+\.ts$|^uplot$/.test(name))
            .map((name) => `${file} imports ${name}`)
        : [],
    );
    expect(forbidden).toEqual([]);
  });

  it("has two places in the HTTP server that know the operations of the API", () => {
    const binding = [...imports.keys()].filter(
      (file) =>
        folderOf(file) === "web" && importedFiles(file).some((other) => folderOf(other) === "api"),
    );
    expect(binding.filter((file) => !/^src\/web\/(?:api|pages)\//.test(file))).toEqual([]);
  });

  it("has a daemon that only the commands run and demo start", () => {
    const importers = [...imports.keys()].filter((file) =>
      importedFiles(file).includes("src/app/daemon.ts"),
    );
    expect(importers.toSorted()).toEqual(["src/cli/demo.ts", "src/cli/run.ts"]);
  });

  it("has pure folders that import no module of Node.js and no package", () => {
    const impure = [...imports].flatMap(([file, names]) =>
      ["fleet", "alerts"].includes(folderOf(file))
        ? names.filter((name) => !isRelative(name)).map((name) => `${file} imports ${name}`)
        : [],
    );
    expect(impure).toEqual([]);
  });
});
