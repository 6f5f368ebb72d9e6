import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diffSnapshots } from "../src/fleet/diff.ts";
import { nextSnapshot } from "../src/fleet/next-snapshot.ts";
import type { Slices } from "../src/fleet/slices.ts";
import { emptySnapshot } from "../src/fleet/snapshot.ts";
import type { Snapshot } from "../src/fleet/snapshot.ts";
import { BodyBuffer } from "../src/service/response-body.ts";
import { createListingReader } from "../src/service/listing-reader.ts";
import { createFleet } from "./support/fleet.ts";

/**
 * CPU of reading and diffing a listing ÷ `JSON.parse` of the same bytes, each in a process of its own with Node's
 * default flags, one poll after another as in the daemon: garbage is collected whenever V8 does.
 *
 *     node bench/read-listings.ts [servers]
 *
 * Of each the median and the least are shown: on a machine that is busy with other things the least is nearer to the
 * truth.
 */
const polls = 12;
const warmUp = 3;

const [mode, folder = "", kind = ""] = process.argv.slice(2);
if (mode === "parse") show(parseAll());
else if (mode === "read") show(await readAll());
else measureAll(Number(mode ?? 100_000));

function measureAll(servers: number): void {
  const fleet = createFleet({ seed: 1, servers });
  const edits: readonly (readonly [string, () => void])[] = [
    ["nothing changed", () => {}],
    ["1 % of statuses", () => fleet.change(0.01)],
    ["every updated_at", () => fleet.touch()],
    ["another order", () => fleet.shuffle()],
    ["every status", () => fleet.change(1)],
  ];
  const bodies = mkdtempSync(join(tmpdir(), "sandwatch-bench-"));
  try {
    for (const [name, edit] of edits) {
      for (let poll = 0; poll < polls + warmUp; poll++) {
        edit();
        writeFileSync(join(bodies, `${name} ${poll}`), Buffer.concat(fleet.render()));
      }
      const [parsed, taken] = ["parse", "read"].map((each) =>
        execFileSync(process.execPath, [import.meta.filename, each, bodies, name], {
          encoding: "utf8",
        })
          .trim()
          .split(" ")
          .map(Number),
      );
      const [median = 0, least = 0, longestSliceMs = 0] = taken ?? [];
      const [medianFloor = 1, leastFloor = 1] = parsed ?? [];
      process.stdout.write(
        `${name.padEnd(18)} ${(median / medianFloor).toFixed(2)} (least ${(least / leastFloor).toFixed(2)}): ` +
          `${median.toFixed(1)} of ${medianFloor.toFixed(1)} ms; longest slice ${longestSliceMs.toFixed(1)} ms\n`,
      );
    }
  } finally {
    rmSync(bodies, { recursive: true });
  }
}

function show(figures: readonly number[]): void {
  process.stdout.write(`${figures.join(" ")}\n`);
}

function bodyOf(poll: number): Buffer {
  return readFileSync(join(folder, `${kind} ${poll}`));
}

function parseAll(): readonly number[] {
  const parsed: number[] = [];
  for (let poll = 0; poll < polls + warmUp; poll++) {
    const body = bodyOf(poll);
    const startMs = cpuMs();
    JSON.parse(body.toString());
    parsed.push(cpuMs() - startMs);
  }
  return medianAndLeast(parsed);
}

async function readAll(): Promise<readonly number[]> {
  const reader = await createListingReader();
  const buffer = new BodyBuffer(Number.MAX_SAFE_INTEGER);
  let snapshot: Snapshot = emptySnapshot;
  let longestSliceMs = 0;
  const run = <Result>(slices: Slices<Result>): Result => {
    for (;;) {
      const startMs = performance.now();
      const slice = slices.next();
      longestSliceMs = Math.max(longestSliceMs, performance.now() - startMs);
      if (slice.done) return slice.value;
    }
  };
  const taken: number[] = [];
  for (let poll = 0; poll < polls + warmUp; poll++) {
    buffer.clear();
    buffer.append(bodyOf(poll));
    if (poll === warmUp) longestSliceMs = 0;
    const startMs = cpuMs();
    const outcome = run(reader.read(buffer.bytes, snapshot, poll));
    if (outcome.kind === "refused") throw new Error(outcome.detail);
    const at = poll * 30_000;
    const observation = { atMs: at, observedMs: at, momentKnown: true, goneAfter: 2 };
    const next = run(nextSnapshot(snapshot, outcome.listing, observation));
    run(diffSnapshots(snapshot, next, observation));
    taken.push(cpuMs() - startMs);
    snapshot = next;
  }
  return [...medianAndLeast(taken), longestSliceMs];
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function medianAndLeast(values: readonly number[]): readonly number[] {
  const sorted = values.slice(warmUp).toSorted((a, b) => a - b);
  return [sorted[sorted.length >> 1] ?? 0, sorted[0] ?? 0];
}
