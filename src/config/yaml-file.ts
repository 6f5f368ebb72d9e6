import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { isAlias, isMap, isPair, isScalar, isSeq, Lexer, LineCounter } from "yaml";
import { parseDocument, visit } from "yaml";
import type { Alias, Document, Node, YAMLError } from "yaml";
import type { Fault, Path, Position } from "./faults.ts";

/** `why` does not name the file: what was given as its name may be the secret itself. */
type FailedRead = { readonly kind: "failed"; readonly why: string };
export type TextRead = { readonly kind: "read"; readonly text: string } | FailedRead;

const reasons = new Map([
  ["ENOENT", "it does not exist"],
  ["ENOTDIR", "it does not exist"],
  ["EACCES", "it may not be read"],
  ["EPERM", "it may not be read"],
  ["EISDIR", "it is a directory"],
]);

interface ReadOptions {
  /** Whether a pipe is read until its end, which may never come. */
  readonly pipes?: boolean;
}

/** Reads a file as UTF-8, without a byte order mark. */
export function readText(file: string, mostBytes: number, options?: ReadOptions): TextRead {
  const read = readBytes(file, mostBytes, options);
  if (read.kind === "failed") return read;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(read.bytes);
    return { kind: "read", text };
  } catch {
    return { kind: "failed", why: "it is not UTF-8 text" };
  }
}

export function readBytes(
  file: string,
  mostBytes: number,
  { pipes = false }: ReadOptions = {},
): { readonly kind: "read"; readonly bytes: Uint8Array } | FailedRead {
  let opened: number | undefined;
  try {
    // Opening a pipe to which nobody writes would wait for a writer.
    opened = openSync(file, pipes ? constants.O_RDONLY : constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(opened);
    // It has no size and perhaps no end.
    if (stat.isCharacterDevice() || stat.isBlockDevice()) {
      return { kind: "failed", why: "it is a device" };
    }
    if (stat.isFIFO() && !pipes) {
      return { kind: "failed", why: "it is a pipe; write its content to a file" };
    }
    // It may be larger than it says, or grow.
    const bytes = stat.size > mostBytes ? null : readAtMost(opened, mostBytes);
    return bytes
      ? { kind: "read", bytes }
      : { kind: "failed", why: `it is larger than ${mostBytes} bytes` };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return { kind: "failed", why: reasons.get(code) ?? `it cannot be read (${code})` };
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

/** Null: there is more. */
function readAtMost(opened: number, mostBytes: number): Uint8Array | null {
  const buffer = new Uint8Array(mostBytes + 1);
  let length = 0;
  for (let read = 1; read > 0 && length < buffer.length; length += read) {
    read = readSync(opened, buffer, length, buffer.length - length, null);
  }
  return length > mostBytes ? null : buffer.subarray(0, length);
}

export type YamlRead =
  | {
      readonly kind: "read";
      readonly value: unknown;
      /** Where the setting at the path begins, or the nearest one around it that is in the file. */
      readonly locate: (path: Path) => Position | null;
    }
  | { readonly kind: "faulty"; readonly faults: readonly Fault[] };

const longestFile = 2 ** 20;

/** Of names, values and signs. What takes time to read has many of them, and thousands of keys have fewer. */
const mostTokens = 100_000;
const mostAliases = 500;

const yaml12 = "YAML 1.2";
const misplaced = [
  "something that does not belong here",
  `${yaml12} (\${NAME} needs quotes between { } or [ ])`,
] as const;
const twoInOneLine = [
  "a second setting in the same line",
  `${yaml12} (one setting in a line; text that contains ": " needs quotes)`,
] as const;

/**
 * What was found, and what is allowed if it is not YAML 1.2. The library's own messages may quote the file, and with it
 * secrets.
 */
const texts: Readonly<Record<YAMLError["code"], readonly [found: string, allowed?: string]>> = {
  ALIAS_PROPS: ["an alias (*) with an anchor (&) or a tag (!)"],
  BAD_ALIAS: misplaced,
  BAD_COLLECTION_TYPE: misplaced,
  BAD_DIRECTIVE: ["an unknown directive (%)"],
  BAD_DQ_ESCAPE: ["an unknown escape (\\) in double quotes"],
  BAD_INDENT: [
    "a line with another indentation than those that it belongs to, or { or [ that is not closed before it",
    `${yaml12} (settings of one mapping and items of one list begin in the same column; each { and [ is closed)`,
  ],
  BAD_PROP_ORDER: misplaced,
  BAD_SCALAR_START: ["text that begins with a reserved character", `${yaml12} (quote the text)`],
  BLOCK_AS_IMPLICIT_KEY: twoInOneLine,
  BLOCK_IN_FLOW: ["an indented list or mapping between { } or [ ]"],
  DUPLICATE_KEY: ["a setting that was given before", "each setting once"],
  IMPOSSIBLE: misplaced,
  KEY_OVER_1024_CHARS: ["a name that is longer than 1024 characters"],
  MISSING_CHAR: [
    "something that is not closed or not separated",
    `${yaml12} (each quote, { and [ is closed; a colon and a blank follow a name, a blank a dash)`,
  ],
  MULTILINE_IMPLICIT_KEY: ["a name of several lines", `${yaml12} (a colon follows each name)`],
  MULTIPLE_ANCHORS: ["several anchors (&) of one value"],
  MULTIPLE_DOCS: ["a second document (---)", "one document"],
  MULTIPLE_TAGS: ["several tags (!) of one value"],
  NON_STRING_KEY: ["a name that is not text"],
  RESOURCE_EXHAUSTION: ["too many levels"],
  TAB_AS_INDENT: ["a tab as indentation", `${yaml12} (indent with blanks)`],
  TAG_RESOLVE_FAILED: ["an unknown tag (!)"],
  UNEXPECTED_TOKEN: misplaced,
};

/**
 * Reads a file of YAML 1.2 with its core schema. Nothing in it takes much time or memory.
 *
 * @param what is allowed where the file cannot be read
 */
export function readYaml(file: string, what: string): YamlRead {
  const read = readText(file, longestFile);
  if (read.kind === "failed") {
    const found = `a file that cannot be used: ${read.why}`;
    return { kind: "faulty", faults: [{ path: "", found, allowed: what }] };
  }
  const tooMany = whatIsTooMany(read.text);
  if (tooMany !== null) {
    return { kind: "faulty", faults: [{ path: "", found: tooMany, allowed: `less in ${what}` }] };
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(read.text, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    // It compares each name with each other one.
    uniqueKeys: false,
    schema: "core",
    resolveKnownTags: false,
    logLevel: "error",
  });
  const position = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const fault = (offset = 0, found = "", allowed = yaml12): YamlRead => {
    return { kind: "faulty", faults: [{ path: "", found, allowed, position: position(offset) }] };
  };
  // One fault brings others after it, up to the end of the file.
  const [error] = [...document.errors, ...document.warnings];
  if (error) {
    const [found, allowed] = texts[error.code];
    return fault(error.pos[0], found, allowed);
  }
  let unusable: YamlRead | undefined;
  const anchored = new Map<string, Node>();
  const noteAnchor = (node: Exclude<Node, Alias>): void => {
    if (node.anchor !== undefined) anchored.set(node.anchor, node);
  };
  visit(document, {
    Value: (_key, node) => noteAnchor(node),
    Map(_key, map) {
      noteAnchor(map);
      const names = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (!names.has(key.value)) names.add(key.value);
        else {
          unusable = fault(key.range?.[0], ...texts.DUPLICATE_KEY);
          return visit.BREAK;
        }
      }
      return undefined;
    },
    Pair(_key, { key }) {
      if (!isScalar(key) || key.value !== "<<") return undefined;
      const allowed = `${yaml12}, which has none: an alias (*) can stand for a whole mapping`;
      unusable = fault(key.range?.[0], "a merge key (<<)", allowed);
      return visit.BREAK;
    },
    Alias(_key, alias, path) {
      const node = anchored.get(alias.source);
      if (node && !path.includes(node)) return undefined;
      unusable = node
        ? fault(alias.range?.[0], "an alias of a part that contains it", "an alias of another part")
        : fault(alias.range?.[0], "an alias (*) without its anchor (&)");
      return visit.BREAK;
    },
  });
  if (unusable) return unusable;
  const locate = (path: Path): Position | null => {
    const offset = offsetOf(document, path);
    return offset === undefined ? null : position(offset);
  };
  try {
    const value: unknown = document.toJS();
    if (countValues(value, mostTokens) < mostTokens) return { kind: "read", value, locate };
  } catch {
    // The library counts how far aliases of aliases expand.
  }
  return fault(0, "too many aliases");
}

/** Counted before it is parsed, which takes ten times as long. */
function whatIsTooMany(text: string): string | null {
  let [tokens, aliases] = [0, 0];
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (token.startsWith("*")) aliases += 1;
    if (aliases > mostAliases) return `more than ${mostAliases} aliases (*)`;
    if (tokens > mostTokens) return `more than ${mostTokens} names, values and signs`;
  }
  return null;
}

/** How many values there are where each alias is a copy, up to a number. */
function countValues(value: unknown, most: number): number {
  let count = 1;
  if (typeof value !== "object" || value === null) return count;
  for (const each of Object.values(value)) {
    if (count >= most) break;
    count += countValues(each, most - count);
  }
  return count;
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
  const isNode = (each: unknown): each is Node =>
    isScalar(each) || isMap(each) || isSeq(each) || isAlias(each);
  return isNode(node) ? node.range?.[0] : undefined;
}
