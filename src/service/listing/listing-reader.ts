import type { Buffer } from "node:buffer";
import type { ListingIntake } from "../../core/listing-intake.ts";
import type { BodyReader } from "../pace-reader.ts";
import { BodyFault, endedTooEarly, type Refusal } from "./body-fault.ts";
import { ChunkWindow } from "./chunk-window.ts";
import { ListingContent, type ListingSummary } from "./listing-content.ts";
import type { ListingMemory } from "./listing-memory.ts";
import { RootGrammar } from "./root-grammar.ts";

export type ListingOutcome =
  | ({ readonly kind: "read" } & ListingSummary)
  | ({ readonly kind: "refused" } & Refusal);

/** A fraction of a millisecond's worth, so that it is a few where the machine is slow or busy. */
const turnEffort = 32 * 1024;

/**
 * Reads one listing into an intake while its body comes. What is taken of it is what `JSON.parse` would
 * make of it, though it is never held as a whole: each sandbox is parsed alone, and not at all when it
 * comes with the text that the intake expects.
 *
 * This and all that it uses are classes: functions made for one listing would be compiled for it alone.
 */
export class ListingReader implements BodyReader {
  /** Null before the reader is done. */
  outcome: ListingOutcome | null = null;
  private readonly content: ListingContent;
  private readonly grammar: RootGrammar;
  private readonly window = new ChunkWindow();
  private hasEnded = false;
  private isEmpty = true;

  constructor(intake: ListingIntake, memory: ListingMemory) {
    this.content = new ListingContent(intake, memory);
    this.grammar = new RootGrammar({ intake, content: this.content, hash: memory.hash });
  }

  push(chunk: Buffer): void {
    if (chunk.length > 0) this.isEmpty = false;
    this.window.push(chunk);
  }

  end(): void {
    this.hasEnded = true;
  }

  advance(): "busy" | "hungry" | "done" {
    if (this.outcome) return "done";
    try {
      const summary = this.readTurn();
      if (summary) this.outcome = { kind: "read", ...summary };
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error;
      this.outcome = { kind: "refused", ...error.refusal };
    }
    if (this.outcome) return "done";
    return this.grammar.effort > 0 ? "hungry" : "busy";
  }

  /** Null while there is more to read or to come. */
  private readTurn(): ListingSummary | null {
    const { grammar, window } = this;
    // What one call leaves of it is for the next: many short chunks can come in one turn of the event loop.
    if (grammar.effort <= 0) grammar.effort = turnEffort;
    while (grammar.effort > 0) {
      const isLast = this.hasEnded && window.isDrained;
      const bytes = isLast ? window.rest() : window.next(grammar.wanted);
      if (!bytes) return null;
      const count = grammar.read(bytes, 0, isLast);
      const isStuck = grammar.effort > 0;
      window.used(count, isStuck);
      if (isLast && isStuck) {
        if (count < bytes.length) throw endedTooEarly();
        return this.finish();
      }
    }
    return null;
  }

  private finish(): ListingSummary {
    if (this.isEmpty) throw new BodyFault("invalid_body", "the body is empty");
    if (!this.grammar.isWhole) throw endedTooEarly();
    return this.content.end();
  }
}
