import { z } from "zod";
import type { Needs } from "../context.ts";
import { listed, nullableText, time } from "../fields.ts";
import { defineQuery } from "../operation.ts";
import { timeText } from "../view-fields.ts";

const processView = z.object({
  address: nullableText.describe("Where its HTTP server is reached; null: not configured"),
  version: z.string(),
  active: z.boolean().describe("Whether it polls, stores and delivers; otherwise it stands by"),
  since: time.describe("Since when it has been active, or has stood by"),
  last_seen: time,
  live: z.boolean().describe("Whether it has said in time that it runs"),
});
export type ProcessView = z.output<typeof processView>;

export const showStatus = defineQuery({
  name: "showStatus",
  path: "/status",
  summary: "Which process is active on PostgreSQL, and which stand by",
  request: z.strictObject({}),
  response: z.object({
    processes: listed(processView).describe("The active one first. On SQLite there are none"),
  }),
  async handle({ store }: Needs<"store">) {
    const processes = await store.processes();
    return {
      processes: processes.map(
        ({ isActive: active, isLive: live, renewedAtMs, sinceMs, ...rest }) => {
          return {
            ...rest,
            active,
            since: timeText(sinceMs),
            last_seen: timeText(renewedAtMs),
            live,
          };
        },
      ),
    };
  },
});
