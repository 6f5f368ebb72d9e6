import { z } from "zod";
import { RefusedError } from "../../lib/refused-error.ts";
import type { Needs } from "../context.ts";
import { flag, texts } from "../fields.ts";
import { defineAction } from "../operation.ts";

export const sendReport = defineAction({
  name: "sendReport",
  path: "/reports/{name}/send",
  summary: "Sends a configured report to its receivers at once",
  request: z.strictObject({
    name: z.string().min(1),
    dry_run: flag.describe("Sends nothing"),
  }),
  response: z.object({
    dry_run: z.boolean(),
    receivers: texts,
    summary: z.string(),
    lines: texts,
  }),
  refusals: [404],
  timeoutMs: 5 * 60_000,
  async handle({ reportSending }: Needs<"reportSending">, { name, dry_run }) {
    const message = await reportSending.send(name, dry_run);
    if (message) {
      const { receivers, summary, lines, truncated } = message;
      const more = truncated === 0 ? [] : [`… and ${truncated} more`];
      return { dry_run, receivers: [...receivers], summary, lines: [...lines, ...more] };
    }
    const known = reportSending.names.join(", ") || "none";
    throw new RefusedError(
      "not_found",
      `There is no report ${name} in the configuration. Configured: ${known}.`,
    );
  },
});
