import type { ListedServer } from "../model.ts";

/** What servers have in common with many others. Never changes, and is shared between them. */
export type ServerKind = Pick<ListedServer, "serverName" | "benchmark" | "tags">;

/** Past this many the known ones are forgotten: then a kind may be there twice. */
const maxKnown = 8_192;
/** So may one with longer tags. */
const maxTagsLength = 1_024;

type Text = string | null;

/** By name, benchmark and tags. Kept in memory once for all pages, however many name them. */
const kinds = new Map<Text, Map<Text, Map<Text, ServerKind>>>();
let known = 0;

export const plainKind = kindOf({ serverName: null, benchmark: null, tags: [] });

/** Equal ones are nearly always the same object. */
export function kindOf({ serverName, benchmark, tags }: ServerKind): ServerKind {
  const tagsKey = tagsText(tags);
  const kind = kinds.get(serverName)?.get(benchmark)?.get(tagsKey);
  if (kind) return kind;
  const made: ServerKind = { serverName, benchmark, tags };
  if (tagsKey !== null && tagsKey.length > maxTagsLength) return made;
  if (++known > maxKnown) {
    kinds.clear();
    known = 1;
  }
  const ofName = kinds.get(serverName) ?? new Map<Text, Map<Text, ServerKind>>();
  kinds.set(serverName, ofName);
  const ofBenchmark = ofName.get(benchmark) ?? new Map<Text, ServerKind>();
  ofName.set(benchmark, ofBenchmark);
  ofBenchmark.set(tagsKey, made);
  return made;
}

export function isOfKind(kind: ServerKind, server: ServerKind): boolean {
  return (
    kind.serverName === server.serverName &&
    kind.benchmark === server.benchmark &&
    kind.tags.length === server.tags.length &&
    kind.tags.every((tag, index) => tag === server.tags[index])
  );
}

/** Null stands for none. One alone is no JSON: most have none or one. */
function tagsText(tags: readonly string[]): string | null {
  const [first] = tags;
  if (first === undefined) return null;
  return tags.length === 1 && !first.startsWith("[") ? first : JSON.stringify(tags);
}
