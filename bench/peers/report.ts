import type { Abilities, Peer } from "./peer.ts";
import type { Measured } from "./measure.ts";

export type Outcome =
  | { readonly kind: "measured"; readonly measured: Measured }
  | { readonly kind: "not measured"; readonly why: string };

export interface Row {
  readonly peer: string;
  readonly servers: number;
  readonly errorShare: number;
  readonly listingBytes: number;
  readonly outcome: Outcome;
}

const headings = ["tool", "CPU ms/poll", "RSS MiB", "peak MiB", "scrape ms", "CPU ms", "size"];

/** The rows of one listing. */
export function costTable(rows: readonly Row[]): string {
  return table([headings, ...rows.map(costCells)]);
}

function costCells({ peer, outcome }: Row): readonly string[] {
  if (outcome.kind === "not measured") return [peer, `not measured: ${outcome.why}`];
  const { cpuMsPerPoll, memory, scrape } = outcome.measured;
  return [
    peer,
    shortNumber(cpuMsPerPoll),
    shortNumber(memory.residentKiB / 1_024),
    shortNumber(memory.peakKiB / 1_024),
    ...(scrape === undefined
      ? ["-", "-", "-"]
      : [shortNumber(scrape.medianMs), shortNumber(scrape.cpuMs), size(scrape.bytes)]),
  ];
}

/** What each of them can and cannot tell. */
export function abilitiesText(peers: readonly Peer[]): string {
  return peers.map(({ name, tells }) => `${name}\n${abilityLines(tells)}`).join("");
}

function abilityLines(tells: Abilities): string {
  const lines = [
    ["each server's status", tells.perServer],
    ["transitions", tells.transitions],
    ["alerts", tells.alerts],
    ["history", tells.history],
  ];
  return lines.map(([what = "", how = ""]) => `  ${what.padEnd(22)}${how}\n`).join("");
}

function shortNumber(value: number): string {
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}

function size(bytes: number): string {
  return bytes < 2 ** 20
    ? `${shortNumber(bytes / 2 ** 10)} KiB`
    : `${shortNumber(bytes / 2 ** 20)} MiB`;
}

function table(rows: readonly (readonly string[])[]): string {
  const full = rows.filter((row) => row.length === headings.length);
  const widths = headings.map((_, column) =>
    Math.max(...full.map((row) => row[column]?.length ?? 0)),
  );
  const nameWidth = Math.max(...rows.map((row) => row[0]?.length ?? 0));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => {
        if (column === 0) return cell.padEnd(nameWidth);
        return row.length < headings.length ? cell : cell.padStart(widths[column] ?? 0);
      })
      .join("  "),
  );
  return `${lines.join("\n")}\n`;
}
