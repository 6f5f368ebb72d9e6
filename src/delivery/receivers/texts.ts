import { readable } from "../../core/readable.ts";

export type Texts = Readonly<Record<string, string>>;

/** Names come from the service and can be anything: receivers get short texts, and no empty ones. */
export function shortTexts(
  values: Readonly<Record<string, string | null>>,
  longest: number,
): Texts {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null || value === "" ? [] : [[name, readable(value, longest)]],
    ),
  );
}

/** As RFC 3339 has it, with milliseconds. */
export function isoTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}
