import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

interface Asset {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

/** Style and modules of the pages. The path has a hash of all of them: a page never mixes two versions. */
export interface Assets {
  readonly hash: string;
  /** The path of a file below the overview. */
  path(name: string): string;
  find(name: string): Asset | undefined;
  /** The text of `docs/runbooks.md`, of which pages are made. */
  readonly runbooks: string;
  readonly names: readonly string[];
}

/** Where `npm run build` writes them, beside the file that this one becomes a part of. */
export const builtFolder = "assets";

const runbooks = "runbooks.md";

/**
 * What pages are made of: the modules of `browser/` without their types, the style sheets of `pages/` as one, and the
 * document of the runbooks. Node.js removes the types, so that a checkout needs no build.
 */
export function compileAssets(): ReadonlyMap<string, string> {
  const browser = join(import.meta.dirname, "browser");
  const pages = join(import.meta.dirname, "pages");
  const modules = filesIn(browser, ".ts").map((name): [string, string] => [
    name.replace(/\.ts$/, ".js"),
    removeTypes(readFileSync(join(browser, name), "utf8"))
      .replaceAll(/(\bfrom |\bimport )"\.\/([\w-]+)\.ts"/g, '$1"./$2.js"')
      .replaceAll(/\bfrom "uplot"/g, 'from "./uplot.js"'),
  ]);
  const sheets = filesIn(pages, ".css").map((name) => readFileSync(join(pages, name), "utf8"));
  const document = readFileSync(join(import.meta.dirname, "../../docs", runbooks), "utf8");
  return new Map([...modules, ["style.css", sheets.join("\n")], [runbooks, document]]);
}

function filesIn(folder: string, extension: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(extension))
    .toSorted();
}

/** Without the warning that this function may change. */
function removeTypes(source: string): string {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

function readAssets(): Assets {
  const built = join(import.meta.dirname, builtFolder);
  const { [runbooks]: document = "", ...own } = existsSync(built)
    ? Object.fromEntries(
        readdirSync(built).map((name) => [name, readFileSync(join(built, name), "utf8")]),
      )
    : Object.fromEntries(compileAssets());
  const uplot = dirname(createRequire(import.meta.url).resolve("uplot"));
  const texts = new Map([
    ...Object.entries(own),
    ["uplot.js", readFileSync(join(uplot, "uPlot.esm.js"), "utf8")],
    ["style.css", readFileSync(join(uplot, "uPlot.min.css"), "utf8") + (own["style.css"] ?? "")],
  ]);
  const hash = hashOf([...texts].flat().join("\0"));
  const files = new Map(Array.from(texts, ([name, text]) => [name, assetOf(name, text)]));
  return {
    hash,
    path: (name) => `assets/${hash}/${name}`,
    find: (name) => files.get(name),
    names: [...files.keys()],
    runbooks: document,
  };
}

function assetOf(name: string, text: string): Asset {
  const body = Buffer.from(text);
  return {
    type: name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
    etag: `"${hashOf(text)}"`,
    body,
    gzipped: gzipSync(body),
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

let loaded: Assets | undefined;

/** Read once, when the server is created: other commands import this file, too. */
export function loadAssets(): Assets {
  return (loaded ??= readAssets());
}
