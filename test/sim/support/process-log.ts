import { Writable } from "node:stream";
import { createLogger } from "../../../src/platform/logger.ts";
import type { Logger } from "../../../src/platform/logger.ts";
import type { Trace } from "./trace.ts";

/** What a process logs goes into the story, for as long as it is alive. */
export function createProcessLog(number: number, trace: Trace, isAlive: () => boolean): Logger {
  const destination = new Writable({
    write(chunk, _, done) {
      for (const text of String(chunk).trimEnd().split("\n")) {
        const line: { level: string; msg: string } = JSON.parse(text);
        if (isAlive()) trace.tell(`process ${number} ${line.level}: ${line.msg}`);
      }
      done();
    },
  });
  return createLogger({ level: "warn", format: "json" }, destination);
}
