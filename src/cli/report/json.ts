import { escapeControls } from "../output.ts";
import type { Texts, StreamedReport } from "./streamed-report.ts";

/** One object with all rows, each on a line, otherwise as the API responds. */
export async function* jsonOf({ rows, ...head }: StreamedReport): Texts {
  const opening = JSON.stringify(head, null, 2).replace(/\n\}$/, "");
  yield escapeControls(`${opening},\n  "rows": [`);
  let separator = "\n    ";
  for await (const row of rows) {
    yield escapeControls(`${separator}${JSON.stringify(row)}`);
    separator = ",\n    ";
  }
  yield separator.startsWith(",") ? "\n  ]\n}\n" : "]\n}\n";
}
