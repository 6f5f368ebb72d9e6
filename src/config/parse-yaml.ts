import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, YAMLError } from "yaml";
import type { Finding, Path, Position } from "./faults.ts";

export interface ParsedYaml {
  /** Undefined when the faults leave no value that could be checked further. */
  readonly value: { readonly content: unknown } | undefined;
  readonly findings: readonly Finding[];
  /** Where the setting at the path begins, or the nearest one around it that is in the file. */
  readonly locate: (path: Path) => Position | null;
}

const mostSyntaxFaults = 10;
const yaml12 = "YAML 1.2";
const quotesNeeded = `${yaml12} (\${NAME} needs quotes between { } or [ ])`;
const quoted = /"[^"]*"|'[^']*'/g;
const unquotedReference = /(?<!\$)[[{].*\$\{/;

/** What comes after them is read as if they were not there. */
const harmless: ReadonlySet<string> = new Set([
  "DUPLICATE_KEY",
  "TAG_RESOLVE_FAILED",
  "BAD_DIRECTIVE",
]);

/** Parses YAML 1.2 with its core schema; aliases are resolved, a few hundred at most. */
export function parseYaml(text: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    // The library's own messages would quote lines of the file, and with them secrets.
    prettyErrors: false,
    stringKeys: true,
    schema: "core",
    resolveKnownTags: false,
    logLevel: "error",
  });
  const position = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const findings: Finding[] = [];
  for (const error of [...document.errors, ...document.warnings]) {
    const place = position(error.pos[0]);
    // One fault of syntax brings others after it: in the same line, and up to the end of the file.
    const sameLine = findings.some((finding) => finding.position?.line === place.line);
    if (sameLine) continue;
    const [found, allowed] = describeError(error);
    const isRepeated =
      !harmless.has(error.code) && findings.some((finding) => finding.found.startsWith(found));
    if (isRepeated) continue;
    findings.push(syntaxFinding(found + alsoIn(text, place.line, allowed), allowed, place));
    if (findings.length === mostSyntaxFaults) break;
  }
  for (const offset of aliasesWithoutAnchor(document)) {
    findings.push(syntaxFinding("an alias (*) without its anchor (&)", yaml12, position(offset)));
  }
  for (const offset of takeMergeKeys(document)) {
    const allowed = `${yaml12}, which has none: an alias (*) can stand for a whole mapping`;
    findings.push(syntaxFinding("a merge key (<<)", allowed, position(offset)));
  }
  const locate = (path: Path): Position | null => {
    const offset = offsetOf(document, path);
    return offset === undefined ? null : position(offset);
  };
  if (document.errors.some((error) => !harmless.has(error.code))) {
    return { value: undefined, findings, locate };
  }
  try {
    return { value: { content: document.toJS() }, findings, locate };
  } catch {
    // Only aliases can fail here: without an anchor, or so many that they would fill the memory.
    if (findings.length === 0)
      findings.push(syntaxFinding("too many aliases", yaml12, { line: 1, column: 1 }));
    return { value: undefined, findings, locate };
  }
}

function syntaxFinding(found: string, allowed: string, position: Position): Finding {
  return { path: [], found, allowed, position };
}

/** What was found and what is allowed. Messages of the library that would quote the file are replaced. */
function describeError(error: YAMLError): [found: string, allowed: string] {
  switch (error.code) {
    case "DUPLICATE_KEY":
      return ["a setting that was given before", "each setting once"];
    case "TAG_RESOLVE_FAILED":
      return ["an unknown tag (!)", yaml12];
    case "BAD_DIRECTIVE":
      return ["an unknown directive (%)", yaml12];
    case "BAD_DQ_ESCAPE":
      return ["an unknown escape (\\) in double quotes", yaml12];
    case "MULTIPLE_DOCS":
      return ["a second document (---)", "one document"];
    case "RESOURCE_EXHAUSTION":
      return ["too many levels", yaml12];
    case "UNEXPECTED_TOKEN":
    case "BAD_ALIAS":
    case "BAD_COLLECTION_TYPE":
      return ["something that does not belong here", quotesNeeded];
    default:
      return [`a fault of syntax: ${error.message}`, yaml12];
  }
}

/** The other lines where a reference lacks its quotes, for the fault that this causes. */
function alsoIn(text: string, faulty: number, allowed: string): string {
  const others = text
    .split("\n")
    .flatMap((line, index) =>
      unquotedReference.test(line.replaceAll(quoted, "")) ? [index + 1] : [],
    )
    .filter((line) => line !== faulty);
  if (allowed !== quotesNeeded || others.length === 0) return "";
  return `; \${ without quotes is also in ${others.length === 1 ? "line" : "lines"} ${others.join(", ")}`;
}

/** Takes them out of the document: as settings they would be unknown ones, whose name is not shown. */
function takeMergeKeys(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, {
    Pair(_key, { key }) {
      if (!isScalar(key) || key.value !== "<<") return undefined;
      offsets.push(key.range?.[0] ?? 0);
      return visit.REMOVE;
    },
  });
  return offsets;
}

function aliasesWithoutAnchor(document: Document): number[] {
  const offsets: number[] = [];
  visit(document, {
    Alias(_key, alias) {
      if (!alias.resolve(document)) offsets.push(alias.range?.[0] ?? 0);
    },
  });
  return offsets;
}

function offsetOf(document: Document, path: Path): number | undefined {
  let node: unknown = document.contents;
  let offset = startOf(node);
  for (const part of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isSeq(node) && typeof part === "number") {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === part);
      if (!isPair(pair)) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else {
      return offset;
    }
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)
    ? node.range?.[0]
    : undefined;
}
