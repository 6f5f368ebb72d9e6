import { harmless } from "../json-text.ts";
import type { Texts, ToldReport } from "./told-report.ts";

/** One object, as the API answers it, but whole: each of its rows on a line. */
export async function* jsonOf({ rows, ...head }: ToldReport): Texts {
  const opening = JSON.stringify(head, null, 2).replace(/\n\}$/, "");
  yield harmless(`${opening},\n  "rows": [`);
  let separator = "\n    ";
  for await (const row of rows) {
    yield harmless(`${separator}${JSON.stringify(row)}`);
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]\n}\n" : "]\n}\n";
}
