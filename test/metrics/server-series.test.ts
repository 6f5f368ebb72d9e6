import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/core/in-steps.ts";
import { statuses } from "../../src/core/model.ts";
import type { ListedSandbox, Status, Target } from "../../src/core/model.ts";
import { emptySnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import { createServerFamilies } from "../../src/metrics/server-families.ts";
import { renderServerSeries, seriesPress } from "../../src/metrics/server-series.ts";
import { PressPool } from "../../src/platform/stamping/press-pool.ts";
import { StampPress } from "../../src/platform/stamping/stamp-press.ts";
import { research, server } from "../support/fleet.ts";
import { intakeOf } from "../support/take-in.ts";
import { joinPieces } from "./exposition.ts";

const kiB = 1_024;

function snapshotOf(sandboxes: readonly ListedSandbox[], atMs = 1_795_167_000_123): PackedSnapshot {
  const options = { complete: true, atMs, observedMs: 0, witnessed: true };
  return atOnce(intakeOf(emptySnapshot, sandboxes, 2).finish(options)).snapshot;
}

function render(
  shown: readonly (readonly [Target, PackedSnapshot])[],
  press = new StampPress(seriesPress),
): Iterable<Uint8Array> {
  const targets = shown.map(([target, { pages }]) => ({ target, pages }));
  return renderServerSeries(targets, createServerFamilies(), "text", press);
}

const lateOptions = { complete: true, atMs: 1_795_167_030_123, observedMs: 30, witnessed: true };

function uuidOf(number: number): string {
  return `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

/** 3,000 servers, a few of them in another status than the rest. */
function manySandboxes(few: Status): readonly ListedSandbox[] {
  return Array.from({ length: 1_000 }, (_, box) => ({
    sandboxId: uuidOf(box),
    status: "idle" as const,
    benchmark: null,
    servers: Array.from({ length: 3 }, (__, index) =>
      server(uuidOf(box * 3 + index), { status: box % 40 === 0 ? few : "idle" }),
    ),
  }));
}

/** The same series written plainly, row by row. */
function plainly(shown: readonly (readonly [Target, PackedSnapshot])[]): string {
  // JSON escapes what the format does, in the same way: the texts here hold nothing else.
  const quote = (text: string | null): string => JSON.stringify(text ?? "");
  const rows = createServerFamilies().flatMap(({ name, help }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...shown.flatMap(([{ region, key }, snapshot]) => {
      const target = `region=${quote(region)},key=${quote(key)}`;
      const oneHot = (labels: string, actual: string): readonly string[] =>
        statuses.map((each) => `${name}{${labels},status="${each}"} ${each === actual ? 1 : 0}`);
      if (name === "sandbox_status") {
        return Array.from(snapshot.sandboxes(), ({ sandboxId, status }) =>
          oneHot(`${target},sandbox=${quote(sandboxId)}`, status),
        ).flat();
      }
      return Array.from(snapshot.servers(), (row) => {
        const labels = `${target},sandbox=${quote(row.sandboxId)},server=${quote(row.serverId)}`;
        if (name === "sandbox_server_status") return oneHot(labels, row.status);
        return name === "sandbox_server_info"
          ? `${name}{${labels},server_name=${quote(row.serverName)},benchmark=${quote(row.benchmark)}} 1`
          : `${name}{${labels}} ${row.sinceMs / 1_000}`;
      }).flat();
    }),
  ]);
  return rows.map((row) => `${row}\n`).join("");
}

const ids = fc.oneof(fc.uuid(), fc.constantFrom("a", 'q"', "back\\slash", "new\nline", "沙箱", ""));
const texts = fc.constantFrom("github", "git", 'say "hi"', "a\\n", "两\n行", "", null);
const sandboxLists: fc.Arbitrary<readonly ListedSandbox[]> = fc.uniqueArray(
  fc.record({
    sandboxId: ids,
    status: fc.constantFrom(...statuses),
    benchmark: texts,
    servers: fc.uniqueArray(
      fc.record({
        serverId: ids,
        serverName: texts,
        status: fc.constantFrom(...statuses),
        benchmark: texts,
        tags: fc.constant([]),
      }),
      { selector: ({ serverId }) => serverId, maxLength: 8 },
    ),
  }),
  { selector: ({ sandboxId }) => sandboxId, maxLength: 8 },
);

describe("the series of servers", () => {
  it("are those of the snapshots' rows, whatever ids and texts there are", () => {
    fc.assert(
      fc.property(sandboxLists, sandboxLists, (one, other) => {
        const shown = [
          [research, snapshotOf(one)],
          [{ region: 'e"u', key: "other" }, snapshotOf(other, 1_000)],
        ] as const;
        expect(joinPieces(render(shown))).toBe(plainly(shown));
      }),
    );
  });

  it("come in pieces of about a MiB, each made when it is asked for", () => {
    const servers = Array.from({ length: 3_000 }, (_, index) => server(`s${index}`));
    const sandbox = { sandboxId: "box", status: "idle" as const, benchmark: null, servers };
    const shown = [[research, snapshotOf([sandbox])]] as const;
    const sizes = Array.from(render(shown), ({ length }) => length);
    const [last = 0, ...full] = sizes.toReversed();
    expect(last).toBeLessThan(1_026 * kiB);
    expect(Math.min(...full)).toBeGreaterThanOrEqual(1_024 * kiB);
    expect(Math.max(...full)).toBeLessThan(1_026 * kiB);
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("hold texts that are longer than a piece", () => {
    const long = server("x".repeat(100 * kiB), { serverName: "沙".repeat(200 * kiB) });
    const sandbox = {
      sandboxId: "box",
      status: "idle" as const,
      benchmark: null,
      servers: [long, server("s")],
    };
    const shown = [[research, snapshotOf([sandbox])]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("are right also past the number of texts that is kept encoded", () => {
    const sandboxes = Array.from({ length: 90 }, (_, box) => ({
      sandboxId: `box-${box}`,
      status: "idle" as const,
      benchmark: null,
      servers: Array.from({ length: 60 }, (__, index) =>
        server(`s${index}`, { serverName: `name-${box}-${index}` }),
      ),
    }));
    const shown = [[research, snapshotOf(sandboxes)]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("tell of the moment when they began, though servers change while pieces are taken", () => {
    const before = snapshotOf(manySandboxes("idle"));
    const pieces = render([[research, before]])[Symbol.iterator]();
    const text = [Buffer.from(pieces.next().value ?? "").toString()];
    // What changed little is kept as what is different from the version before, and the other way round.
    const after = atOnce(intakeOf(before, manySandboxes("error"), 2).finish(lateOptions)).snapshot;
    atOnce(after.settle());
    for (let step = pieces.next(); !step.done; step = pieces.next()) {
      text.push(Buffer.from(step.value).toString());
    }
    expect(text.length).toBeGreaterThan(2);
    expect(text.join("")).toBe(plainly([[research, before]]));
    expect(joinPieces(render([[research, after]]))).toBe(plainly([[research, after]]));
  });

  it.each([500, 700, 900, 1_200, 2_000, 6_000, 20_000])(
    "are right where a press has room for stamps and tails of %i bytes alone",
    (letterBytes) => {
      let snapshot = emptySnapshot;
      for (let poll = 0; poll < 24; poll++) {
        const listed = Array.from({ length: 20 }, (_, box) => ({
          sandboxId: uuidOf(box),
          status: "idle" as const,
          benchmark: null,
          servers: Array.from({ length: 6 }, (__, index) => {
            const number = box * 6 + index;
            const isNew = number % 24 === poll || (number === 0 && poll === 23);
            const serverName = `${"name ".repeat(9)}${number % 40}`;
            return server(uuidOf(number), { serverName, status: isNew ? "error" : "idle" });
          }),
        }));
        const options = { ...lateOptions, atMs: lateOptions.atMs + poll * 30_001 };
        snapshot = atOnce(intakeOf(snapshot, listed, 2).finish(options)).snapshot;
      }
      const shown = [
        [research, snapshot],
        [{ region: "eu", key: "research" }, snapshot],
      ] as const;
      const press = new StampPress({ pieceBytes: 4 * kiB, letterBytes });
      expect(joinPieces(render(shown, press))).toBe(plainly(shown));
    },
  );

  it("are right whatever the lengths of names, of servers with UUIDs and without", () => {
    const lengths = [0, 1, 200, 250, 300, 600, 990, 1_010, 1_100, 3_000];
    const boxes = lengths.map((length, box) => ({
      sandboxId: box % 3 === 0 ? `box-${box}` : uuidOf(box),
      status: "idle" as const,
      benchmark: null,
      servers: lengths.map((__, index) => {
        const id = index % 2 === 0 ? uuidOf(100 + box * 10 + index) : `s${index}`;
        return server(id, { serverName: "é".repeat(length / 2) + "x".repeat(length % 7) });
      }),
    }));
    const shown = [[research, snapshotOf(boxes)]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("are right of sandboxes with more servers than are stamped at once", () => {
    const boxes = [300, 1, 900, 2].map((servers, box) => ({
      sandboxId: uuidOf(box),
      status: "idle" as const,
      benchmark: null,
      servers: Array.from({ length: servers }, (_, index) => server(uuidOf(box * 1_000 + index))),
    }));
    const shown = [[research, snapshotOf(boxes)]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("are right behind sandboxes that hold no server", () => {
    const box = { status: "idle" as const, benchmark: null };
    const empty = Array.from({ length: 400 }, (_, index) => ({
      ...box,
      sandboxId: uuidOf(index),
      servers: [],
    }));
    const held = ["before", "behind"].map((name, index) => ({
      ...box,
      sandboxId: uuidOf(1_000 + index),
      servers: [server(uuidOf(2_000 + index), { serverName: name })],
    }));
    const [first, last] = [held.slice(0, 1), held.slice(1)];
    const shown = [[research, snapshotOf([...first, ...empty, ...last])]] as const;
    expect(joinPieces(render(shown))).toBe(plainly(shown));
  });

  it("are right in two scrapes at once", () => {
    const press = new PressPool(seriesPress);
    const shown = [[research, snapshotOf(manySandboxes("idle"))]] as const;
    const both = [render(shown, press.take()), render(shown, press.take())];
    const running = both.map((pieces) => ({ pieces: pieces[Symbol.iterator](), text: "" }));
    for (let left = 2; left > 0;) {
      const steps = running.map(({ pieces }) => pieces.next());
      left = steps.filter(({ done }) => !done).length;
      for (const [index, { done, value }] of steps.entries()) {
        const scrape = running[index];
        if (!done && scrape) scrape.text += Buffer.from(value).toString();
      }
    }
    for (const { text } of running) expect(text).toBe(plainly(shown));
  });
});
