import type { Buffer } from "node:buffer";
import type { ListingIntake } from "../../core/listing-intake.ts";
import type { BodyReader } from "../pace-reader.ts";
import { BodyFault, endedTooEarly, type Refusal } from "./body-fault.ts";
import { createChunkWindow } from "./chunk-window.ts";
import { createListingContent, type ListingSummary } from "./listing-content.ts";
import type { ListingMemory } from "./listing-memory.ts";
import { createRootGrammar } from "./root-grammar.ts";

export type ListingOutcome =
  | ({ readonly kind: "read" } & ListingSummary)
  | ({ readonly kind: "refused" } & Refusal);

/** Reads one listing into an intake while its body comes. */
export interface ListingReader extends BodyReader {
  /** Null before the reader is done. */
  readonly outcome: ListingOutcome | null;
}

/** About a millisecond's worth. */
const turnEffort = 256 * 1024;

/**
 * What is taken of a body is what `JSON.parse` would make of it, though it is never held as a whole:
 * each sandbox is parsed alone, and not at all when it comes with the text that the intake expects.
 */
export function createListingReader(intake: ListingIntake, memory: ListingMemory): ListingReader {
  const content = createListingContent(intake, memory);
  const grammar = createRootGrammar({ intake, content, hash: memory.hash });
  const window = createChunkWindow();
  let hasEnded = false;
  let isEmpty = true;
  let outcome: ListingOutcome | null = null;

  const finish = (): ListingSummary => {
    if (isEmpty) throw new BodyFault("invalid_body", "the body is empty");
    if (!grammar.isWhole) throw endedTooEarly();
    return content.end();
  };

  /** Null while there is more to read or to come. */
  const readTurn = (): ListingSummary | null => {
    // What one call leaves of it is for the next: many short chunks can come in one turn of the event loop.
    if (grammar.effort <= 0) grammar.effort = turnEffort;
    while (grammar.effort > 0) {
      const isLast = hasEnded && window.isDrained;
      const bytes = isLast ? window.rest() : window.next(grammar.wanted);
      if (!bytes) return null;
      const count = grammar.read(bytes, 0, isLast);
      const isStuck = grammar.effort > 0;
      window.used(count, isStuck);
      if (isLast && isStuck) {
        if (count < bytes.length) throw endedTooEarly();
        return finish();
      }
    }
    return null;
  };

  return {
    get outcome() {
      return outcome;
    },
    push(chunk: Buffer) {
      if (chunk.length > 0) isEmpty = false;
      window.push(chunk);
    },
    end() {
      hasEnded = true;
    },
    advance() {
      if (outcome) return "done";
      try {
        const summary = readTurn();
        if (summary) outcome = { kind: "read", ...summary };
      } catch (error) {
        if (!(error instanceof BodyFault)) throw error;
        outcome = { kind: "refused", ...error.refusal };
      }
      if (outcome) return "done";
      return grammar.effort > 0 ? "hungry" : "busy";
    },
  };
}
