import { styleText } from "node:util";
import { systemClock } from "../lib/clock.ts";
import { ageText } from "../web/browser/age.ts";
import type { Terminal } from "./terminal.ts";

/** Of those that `printablePainted` lets through. None of them says anything that the text does not. */
export type Color = "red" | "yellow" | "green" | "bold";

/** How text is shown to the person, or the file, that reads it. */
export interface Look {
  /** Of the longest line. Undefined: nothing is cut. */
  readonly width: number | undefined;
  readonly timeText: (isoTime: string | null | undefined) => string;
  /** When something will be over, on the clocks of the person, with their zone. */
  readonly untilText: (isoTime: string) => string;
  /** Since when something has lasted, as part of a sentence. */
  readonly sinceText: (isoTime: string) => string;
  readonly paint: (color: Color, text: string) => string;
}

/** @param isExact shows times as they are instead of how long ago they were */
export function lookOf(terminal: Terminal, isExact = false): Look {
  const { columns: width, isColored = false, clock = systemClock } = terminal;
  return {
    width,
    timeText: (isoTime) =>
      isExact || !isoTime ? (isoTime ?? "") : agoText(clock.now().utcMs - Date.parse(isoTime)),
    untilText: (isoTime) => `until ${localText(Date.parse(isoTime), terminal.zone)}`,
    sinceText: (isoTime) =>
      isExact
        ? `since ${isoTime}`
        : `for ${ageText(Math.max(0, clock.now().utcMs - Date.parse(isoTime)))}`,
    paint: (color, text) =>
      isColored && text !== "" ? styleText(color, text, { validateStream: false }) : text,
  };
}

/** "2026-11-21 18:00 (Europe/Berlin)". */
function localText(utcMs: number, zone?: string): string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "short",
    timeZone: zone,
  });
  return `${format.format(utcMs)} (${format.resolvedOptions().timeZone})`;
}

/** "12 min ago", or of a time to come "in 3 h". */
function agoText(ageMs: number): string {
  return ageMs < 0 ? `in ${ageText(-ageMs)}` : `${ageText(ageMs)} ago`;
}
