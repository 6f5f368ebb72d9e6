import { Writable } from "node:stream";
import { createLogger } from "../../../src/lib/logger.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import type { StoreLogLine } from "../history.ts";
import type { Trace } from "./trace.ts";

export interface ProcessLogOptions {
  readonly isAlive: () => boolean;
  readonly onStoreLine: (line: Pick<StoreLogLine, "event" | "table">) => void;
}

/** What a process logs goes into the story, for as long as it is alive. */
export function createProcessLog(
  number: number,
  trace: Trace,
  { isAlive, onStoreLine }: ProcessLogOptions,
): Logger {
  const destination = new Writable({
    write(chunk, _, done) {
      for (const text of String(chunk).trimEnd().split("\n")) {
        const line: { level: string; msg: string; event?: string; table?: string } =
          JSON.parse(text);
        if (!isAlive()) continue;
        const { event = "", table = null } = line;
        if (event.startsWith("store.")) onStoreLine({ event, table });
        trace.tell(`process ${number} ${line.level}: ${line.msg}`);
      }
      done();
    },
  });
  return createLogger({ level: "warn", format: "json" }, destination);
}
