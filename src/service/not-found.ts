import { isObject, type JsonValue } from "./json.ts";

/** What a 404 means: the operation is not there, nothing has this id, or nobody can tell yet. */
export type NotFound = "operation_missing" | "unknown_id" | "unclear";

/** What the answers of one operation in one region have told so far of whether it is there. */
export interface NotFoundHistory {
  /** Takes an answer that only the operation can give: it found something, or judged the input. */
  answered(id: string): void;
  /**
   * Takes a 404.
   *
   * @param id null for an operation that takes none
   * @param body undefined for one that is no JSON
   */
  notFound(id: string | null, body: JsonValue | undefined): NotFound;
}

/** With so many ids unknown, one after the other, it is not the ids. */
const manyIds = 3;
/** So many ids that were found are remembered, the latest ones. */
const maxKnownIds = 100;

/** Of the texts that servers and frameworks give a path by which nothing is served. */
const ofNoPath = /^(?:404[ :-]*)?(?:page |path |route |url |resource )?not[ _]found[.!]?$/i;

export function createNotFoundHistory(): NotFoundHistory {
  const known = new Set<string>();
  /** Since the operation answered last. */
  const missed = new Set<string>();
  let lostKnown = false;

  return {
    answered(id) {
      missed.clear();
      lostKnown = false;
      known.delete(id);
      known.add(id);
      const [oldest] = known;
      if (known.size > maxKnownIds && oldest !== undefined) known.delete(oldest);
    },
    notFound(id, body) {
      if (id === null) return "operation_missing";
      // It says more than that there is nothing: whoever wrote it knows what was looked for.
      if (isSpecific(body)) return "unknown_id";
      if (missed.size < manyIds) missed.add(id);
      lostKnown ||= known.has(id);
      const isOften = missed.size >= manyIds;
      // One that was there is missing only when even what it knew is gone.
      if (known.size > 0) return isOften && lostKnown ? "operation_missing" : "unknown_id";
      // The service speaks JSON: what else answers is in front of it, or is no service at all.
      return isOften || body === undefined ? "operation_missing" : "unclear";
    },
  };
}

function isSpecific(body: JsonValue | undefined): boolean {
  if (!isObject(body)) return false;
  const texts = [body["detail"], body["message"], body["error"]].filter(
    (each) => typeof each === "string",
  );
  return texts.length > 0 && !texts.some((text) => ofNoPath.test(text.trim()));
}
