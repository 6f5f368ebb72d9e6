import type { Buffer } from "node:buffer";
import type { ListingIntake } from "../../core/listing-intake.ts";
import type { BodyReader } from "../pace-reader.ts";
import { nothingUnkept } from "../unkept.ts";
import { BodyFault, endedTooEarly, type Refusal } from "./body-fault.ts";
import { BodyWatch } from "./body-watch.ts";
import { ChunkWindow } from "./chunk-window.ts";
import { ListingContent, type ListingSummary } from "./listing-content.ts";
import type { ListingMemory } from "./listing-memory.ts";
import { RootGrammar } from "./root-grammar.ts";

export type ListingOutcome =
  | ({ readonly kind: "read" } & ListingSummary)
  | ({ readonly kind: "refused" } & Refusal);

interface ReaderParts {
  readonly content: ListingContent;
  readonly grammar: RootGrammar;
  readonly window: ChunkWindow;
}

/** A fraction of a millisecond's worth, so that it is a few where the machine is slow or busy. */
const turnEffort = 32 * 1024;

/** Of a body that was there before: one with anything to remark is not known again. */
const nothingToNote: ListingSummary = {
  complete: true,
  partial: null,
  unkept: nothingUnkept,
  deviations: [],
};

/**
 * Reads one listing into an intake while its body comes. What is taken of it is what `JSON.parse` would
 * make of it, though it is never held as a whole: each sandbox is parsed alone, and not at all when it
 * comes with the text that the intake expects. A small body that is the known one is not read at all.
 *
 * This and all that it uses are classes: functions made for one listing would be compiled for it alone.
 */
export class ListingReader implements BodyReader {
  /** Null before the reader is done. */
  outcome: ListingOutcome | null = null;
  private readonly intake: ListingIntake;
  private readonly memory: ListingMemory;
  private readonly body: BodyWatch;
  /** Null while nothing of the body is to be read. */
  private parts: ReaderParts | null = null;
  private hasEnded = false;
  private isEmpty = true;

  constructor(intake: ListingIntake, memory: ListingMemory) {
    this.intake = intake;
    this.memory = memory;
    this.body = new BodyWatch(intake.knownBody, memory.beginBody());
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.isEmpty = false;
    this.body.add(chunk);
  }

  end(): void {
    this.hasEnded = true;
  }

  advance(): "busy" | "hungry" | "done" {
    if (this.outcome) return "done";
    try {
      const summary = this.takeKnown() ?? this.readTurn();
      if (summary) this.outcome = { kind: "read", ...summary };
    } catch (error) {
      if (!(error instanceof BodyFault)) throw error;
      this.outcome = { kind: "refused", ...error.refusal };
    }
    if (this.outcome) {
      this.memory.texts.close();
      return "done";
    }
    return !this.parts || this.parts.grammar.effort > 0 ? "hungry" : "busy";
  }

  private takeKnown(): ListingSummary | null {
    if (!this.hasEnded || !this.body.isKnown()) return null;
    this.intake.sameBody();
    this.body.drop();
    return nothingToNote;
  }

  /** Null while there is more to read or to come. */
  private readTurn(): ListingSummary | null {
    const chunks = this.body.take(this.hasEnded);
    if (!chunks) return null;
    const { grammar, window } = (this.parts ??= this.begin());
    for (const chunk of chunks) window.push(chunk);
    // What one call leaves of it is for the next: many short chunks can come in one turn of the event loop.
    if (grammar.effort <= 0) grammar.effort = turnEffort;
    while (grammar.effort > 0) {
      const isLast = this.hasEnded && window.isDrained;
      const bytes = isLast ? window.rest() : window.next(grammar.wanted);
      if (!bytes) return null;
      const count = grammar.read(bytes, 0, isLast);
      window.used(count, grammar.isStuck);
      if (isLast && grammar.isStuck) {
        if (count < bytes.length) throw endedTooEarly();
        return this.finish(this.parts);
      }
    }
    return null;
  }

  private begin(): ReaderParts {
    const { intake, memory } = this;
    const content = new ListingContent(intake, memory);
    const grammar = new RootGrammar({ intake, content, texts: memory.texts });
    return { content, grammar, window: new ChunkWindow() };
  }

  private finish({ content, grammar }: ReaderParts): ListingSummary {
    if (this.isEmpty) throw new BodyFault("invalid_body", "the body is empty");
    if (!grammar.isWhole) throw endedTooEarly();
    const summary = content.end();
    const mark = this.body.mark();
    if (mark && summary.complete && summary.deviations.length === 0) this.intake.cameIn(mark);
    return summary;
  }
}
