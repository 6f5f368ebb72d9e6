import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../src/core/in-steps.ts";
import { statuses } from "../../src/core/model.ts";
import type { ListedSandbox, Target } from "../../src/core/model.ts";
import { emptySnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../src/core/snapshot/packed-snapshot.ts";
import { createServerFamilies } from "../../src/metrics/server-families.ts";
import { renderServerSeries } from "../../src/metrics/server-series.ts";
import { research, server } from "../support/fleet.ts";
import { intakeOf } from "../support/take-in.ts";
import { joinPieces } from "./exposition.ts";

const kiB = 1_024;

function snapshotOf(sandboxes: readonly ListedSandbox[], atMs = 1_795_167_000_123): PackedSnapshot {
  const options = { complete: true, atMs, observedMs: 0, witnessed: true };
  return atOnce(intakeOf(emptySnapshot, sandboxes, 2).finish(options)).snapshot;
}

function render(shown: readonly (readonly [Target, PackedSnapshot])[]): Iterable<Uint8Array> {
  const targets = shown.map(([target, { pages }]) => ({ target, pages }));
  return renderServerSeries(targets, createServerFamilies(), "text");
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

  it("come in pieces of about 512 KiB, each made when it is asked for", () => {
    const servers = Array.from({ length: 3_000 }, (_, index) => server(`s${index}`));
    const sandbox = { sandboxId: "box", status: "idle" as const, benchmark: null, servers };
    const shown = [[research, snapshotOf([sandbox])]] as const;
    const sizes = Array.from(render(shown), ({ length }) => length);
    const [last = 0, ...full] = sizes.toReversed();
    expect(last).toBeLessThan(514 * kiB);
    expect(Math.min(...full)).toBeGreaterThanOrEqual(512 * kiB);
    expect(Math.max(...full)).toBeLessThan(514 * kiB);
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
});
