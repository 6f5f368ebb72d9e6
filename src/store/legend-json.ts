import { z } from "zod";
import type { Legend } from "../core/snapshot/page.ts";
import { kindOf } from "../core/snapshot/server-kind.ts";
import type { ServerKind } from "../core/snapshot/server-kind.ts";

type Text = string | null;

const text = z.string().nullable();
const fullKindSchema = z.tuple([text, text, z.array(z.string())]);
const legendSchema = z.tuple([z.array(z.string()), z.array(z.unknown())]);
type FullKind = z.infer<typeof fullKindSchema>;

/** Most kinds are no more than a name. */
export function legendToJson({ texts, kinds }: Legend): string {
  const kindToJson = ({ serverName, benchmark, tags }: ServerKind): Text | FullKind =>
    benchmark === null && tags.length === 0 ? serverName : [serverName, benchmark, [...tags]];
  return JSON.stringify([texts, kinds.map(kindToJson)]);
}

/**
 * Reads the legends of one target. A large one has thousands of them with many kinds each, nearly all of
 * them no more than one of few names: zod is asked only to say what is wrong.
 */
export function createLegendReader(): (json: string) => Legend {
  const named = new Map<Text, ServerKind>();

  const kindFromJson = (written: unknown): ServerKind => {
    if (!isText(written)) {
      const full = isFullKind(written) ? written : fullKindSchema.parse(written);
      const [serverName, benchmark, tags] = full;
      return kindOf({ serverName, benchmark, tags });
    }
    const known = named.get(written);
    if (known) return known;
    const kind = kindOf({ serverName: written, benchmark: null, tags: [] });
    named.set(written, kind);
    return kind;
  };

  return (json) => {
    const written: unknown = JSON.parse(json);
    const [texts, kinds] = isLegend(written) ? written : legendSchema.parse(written);
    return { texts, kinds: kinds.map(kindFromJson) };
  };
}

function isLegend(written: unknown): written is z.infer<typeof legendSchema> {
  if (!Array.isArray(written) || written.length !== 2) return false;
  const [texts, kinds]: readonly unknown[] = written;
  return isTexts(texts) && Array.isArray(kinds);
}

function isFullKind(written: unknown): written is FullKind {
  if (!Array.isArray(written) || written.length !== 3) return false;
  const [serverName, benchmark, tags]: readonly unknown[] = written;
  return isText(serverName) && isText(benchmark) && isTexts(tags);
}

function isText(written: unknown): written is Text {
  return written === null || typeof written === "string";
}

function isTexts(written: unknown): written is string[] {
  return Array.isArray(written) && written.every((each) => typeof each === "string");
}
