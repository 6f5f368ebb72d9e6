import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextSnapshot } from "../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../src/fleet/slices.ts";
import { eachServer, emptySnapshot } from "../../src/fleet/snapshot.ts";
import type { ListedSandbox, Snapshot } from "../../src/fleet/snapshot.ts";
import { statuses, type Status, type Target } from "../../src/fleet/model.ts";
import { toPieces } from "../../src/metrics/metrics.ts";
import { serverFamilies, serverLines } from "../../src/metrics/server-families.ts";
import { research, server } from "../support/fleet.ts";
import { readListing } from "../support/listing.ts";
import { joinPieces } from "./exposition.ts";

const kiB = 1_024;

type Shown = readonly (readonly [Target, Snapshot])[];

function snapshotOf(
  sandboxes: readonly ListedSandbox[],
  { before = emptySnapshot, atMs = 1_795_167_000_123 } = {},
): Snapshot {
  const observation = { atMs, observedMs: 0, momentKnown: true, goneAfter: 2 };
  return runAtOnce(nextSnapshot(before, readListing({ sandboxes, complete: true }), observation));
}

function render(shown: Shown): Iterable<Uint8Array> {
  const targets = shown.map(([target, snapshot]) => ({ target, snapshot }));
  return toPieces(serverLines(targets, serverFamilies, "text"));
}

function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

/** 3,000 servers, a few of them in another status than the rest. */
function manySandboxes(few: Status): readonly ListedSandbox[] {
  return Array.from({ length: 1_000 }, (_, box) => ({
    id: uuidOf(box),
    status: "idle" as const,
    benchmark: null,
    createdAt: null,
    servers: Array.from({ length: 3 }, (__, index) =>
      server(uuidOf(box * 3 + index), { status: box % 40 === 0 ? few : "idle" }),
    ),
  }));
}

/** The same series written plainly, row by row. */
function plainly(shown: Shown): string {
  // JSON escapes what the format does, in the same way: the texts here hold nothing else.
  const quote = (text: string | null): string => JSON.stringify(text ?? "");
  const rows = serverFamilies.flatMap(({ name, help }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...shown.flatMap(([{ region, key }, snapshot]) => {
      const target = `region=${quote(region)},key=${quote(key)}`;
      const statusLines = (labels: string, actual: string): readonly string[] =>
        statuses.map((each) => `${name}{${labels},status="${each}"} ${each === actual ? 1 : 0}`);
      if (!name.startsWith("sandbox_server_")) {
        return snapshot.sandboxes.flatMap(({ id, status, benchmark, since, createdAt }) => {
          const labels = `${target},sandbox=${quote(id)}`;
          const seconds = (atMs: number) => `${name}{${labels}} ${atMs / 1_000}`;
          if (name === "sandbox_status") return statusLines(labels, status);
          if (name === "sandbox_info") return `${name}{${labels},benchmark=${quote(benchmark)}} 1`;
          if (name === "sandbox_status_since_timestamp_seconds") return seconds(since.atMs);
          return createdAt === null ? [] : seconds(createdAt);
        });
      }
      return Array.from(eachServer(snapshot), ({ sandbox, server: row }) => {
        const labels = `${target},sandbox=${quote(sandbox.id)},server=${quote(row.id)}`;
        if (name === "sandbox_server_status") return statusLines(labels, row.status);
        return name === "sandbox_server_info"
          ? `${name}{${labels},server_name=${quote(row.name)},benchmark=${quote(row.benchmark)}} 1`
          : `${name}{${labels}} ${row.since.atMs / 1_000}`;
      }).flat();
    }),
  ]);
  return rows.map((row) => `${row}\n`).join("");
}

const ids = fc.oneof(fc.uuid(), fc.constantFrom("a", 'q"', "back\\slash", "new\nline", "沙箱", ""));
const texts = fc.constantFrom("github", "git", 'say "hi"', "a\\n", "两\n行", "", null);
const sandboxLists: fc.Arbitrary<readonly ListedSandbox[]> = fc.uniqueArray(
  fc.record({
    id: ids,
    status: fc.constantFrom(...statuses, null),
    benchmark: texts,
    createdAt: fc.constantFrom(null, 0, 1_771_274_725_770),
    servers: fc.uniqueArray(
      fc.record({
        id: ids,
        name: texts,
        status: fc.constantFrom(...statuses, null),
        benchmark: texts,
        tags: fc.constant([]),
      }),
      { selector: ({ id }) => id, maxLength: 8 },
    ),
  }),
  { selector: ({ id }) => id, maxLength: 8 },
);

describe("the series of servers", () => {
  it("are those of the snapshots' rows, whatever ids and texts there are", () => {
    fc.assert(
      fc.property(sandboxLists, sandboxLists, (one, other) => {
        const shown = [
          [research, snapshotOf(one)],
          [{ region: 'e"u', key: "other" }, snapshotOf(other, { atMs: 1_000 })],
        ] as const;
        expect(joinPieces(render(shown))).toBe(plainly(shown));
      }),
    );
  });

  it("come in pieces of 64 KiB and little more, each made when it is asked for", () => {
    const shown = [[research, snapshotOf(manySandboxes("error"))]] as const;
    const sizes = Array.from(render(shown), ({ length }) => length);
    const full = sizes.slice(0, -1);
    expect(full.length).toBeGreaterThan(3);
    expect(Math.min(...full)).toBeGreaterThanOrEqual(64 * kiB);
    expect(Math.max(...sizes)).toBeLessThan(68 * kiB);
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("may have texts that are longer than a piece", () => {
    const long = server("x".repeat(100 * kiB), { name: "沙".repeat(200 * kiB) });
    const box = { id: "box", status: "idle" as const, benchmark: null, createdAt: null };
    const shown = [[research, snapshotOf([{ ...box, servers: [long, server("s")] }])]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("are not disturbed by another scrape beside it, nor by one that is broken off", () => {
    const shown = [[research, snapshotOf(manySandboxes("idle"))]] as const;
    const [piece = new Uint8Array()] = render(shown);
    const kept = Buffer.from(piece).toString();
    const [one, other] = [render(shown), render(shown)[Symbol.iterator]()];
    const shownTexts = ["", ""];
    for (const each of one) {
      shownTexts[0] += Buffer.from(each).toString();
      shownTexts[1] += Buffer.from(other.next().value ?? []).toString();
    }
    expect(shownTexts).toEqual([plainly(shown), plainly(shown)]);
    expect(Buffer.from(piece).toString()).toBe(kept);
  });
});
