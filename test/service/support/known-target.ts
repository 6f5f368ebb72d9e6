import { kindOf } from "../../../src/core/deviation.ts";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import type { SnapshotIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { Sighting } from "../../../src/core/snapshot/sighting.ts";
import { spelledOut } from "../../core/support/unpacked.ts";
import { changesOf } from "../../support/take-in.ts";
import { sandbox, server } from "../wire.ts";
import { createMemory, cutBody, readChunks } from "./read-chunks.ts";

/** As many sandboxes make three pages. */
export const many = 250;

export function itemText(name: string, status: string, more: object = {}): string {
  const servers = [{ ...server, id: `${name}-v`, status }];
  return JSON.stringify({ ...sandbox, local_sandbox_id: name, servers, ...more });
}

/** All of one length. */
export function itemsOf(kind: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => itemText(nameOf(kind, at), "idle"));
}

export const nameOf = (kind: string, at: number): string =>
  `${kind}-${String(at).padStart(4, "0")}`;

export const items = itemsOf("box", many);

interface Layout {
  /** Between two items. */
  readonly gap?: string;
  /** Behind the item at this place, in place of that. */
  readonly oddGap?: readonly [at: number, gap: string];
  readonly totalCount?: number;
}

export function bodyOf(list: readonly string[], layout: Layout = {}): Buffer {
  const { gap = ",", oddGap, totalCount = list.length } = layout;
  const gapAt = (at: number): string => (oddGap?.[0] === at ? oddGap[1] : gap);
  const text = list.map((item, at) => (at < list.length - 1 ? item + gapAt(at) : item)).join("");
  return Buffer.from(`{"local_sandboxes":[${text}],"total_count":${totalCount}}`);
}

/** How many sandboxes a reader took as ones that were expected, and how many it told of otherwise. */
interface Calls {
  expected: number;
  others: number;
}

function countCalls(intake: SnapshotIntake): Calls {
  const calls: Calls = { expected: 0, others: 0 };
  const takeTexts = intake.takeTexts.bind(intake);
  const moved = intake.moved.bind(intake);
  const listed = intake.listed.bind(intake);
  Object.assign(intake, {
    takeTexts(...args: Parameters<typeof takeTexts>) {
      calls.expected += args[0];
      takeTexts(...args);
    },
    moved(...args: Parameters<typeof moved>) {
      const mark = moved(...args);
      if (mark) calls.others++;
      return mark;
    },
    listed(...args: Parameters<typeof listed>) {
      calls.others++;
      return listed(...args);
    },
  });
  return calls;
}

export function finish(intake: SnapshotIntake, complete = true): Sighting {
  return atOnce(intake.finish({ complete, atMs: 1_000, observedMs: 1_000, witnessed: true }));
}

interface Reading {
  readonly sizes?: readonly number[];
  readonly isTaken?: boolean;
}

/** A target whose bodies are read one after another, none of them as one that is known as a whole. */
export function createTarget({ remembers = true } = {}) {
  let memory = createMemory();
  let snapshot: PackedSnapshot = emptySnapshot;
  return {
    /** @param isTaken false: the poll comes to nothing */
    read(body: Buffer, { sizes = [], isTaken = true }: Reading = {}) {
      if (!remembers) memory = createMemory();
      const intake = openIntake({ ...snapshot, body: null }, { goneAfter: 2 });
      const calls = countCalls(intake);
      const outcome = readChunks(cutBody(body, sizes), intake, memory);
      if (outcome.kind === "refused") return { ...calls, told: outcome.reason };
      const { complete } = outcome;
      // Which example it is aside, but for new words: what is remembered of a text has that of the first one
      // which deviated alike.
      const deviations = outcome.deviations.map((each) => {
        const [field, problem, word] = kindOf(each);
        return { field, problem, word, count: each.count, hasExample: each.example !== null };
      });
      const sighting = finish(intake, complete);
      if (isTaken) ({ snapshot } = sighting);
      const changes = changesOf(sighting.changes);
      const after = spelledOut(sighting.snapshot);
      return { ...calls, told: { complete, deviations, changes, pages: after } };
    },
  };
}

/** What bodies tell that are read one after another, and what each would if nothing were known. */
export function tell(bodies: readonly Buffer[]) {
  const [knowing, forgetful] = [createTarget(), createTarget({ remembers: false })];
  return {
    known: bodies.map((body) => knowing.read(body).told),
    read: bodies.map((body) => forgetful.read(body).told),
  };
}
