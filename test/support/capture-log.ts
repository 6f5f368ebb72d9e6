import { createLogger } from "../../src/lib/logger.ts";

export interface Line {
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** A log whose lines are collected, without their times. */
export function captureLog(level: "debug" | "info" = "info") {
  const lines: Line[] = [];
  const write = (text: string): void => {
    for (const line of text.trimEnd().split("\n")) {
      const { time: _, ...fields }: Line = JSON.parse(line);
      lines.push(fields);
    }
  };
  return { lines, log: createLogger({ level, format: "json" }, { write }) };
}
