import { expect, it } from "vitest";
import { createLogger } from "../../src/platform/logger.ts";
import { createPollingLog } from "../../src/polling/polling-log.ts";
import { judgeBy, server, watchFleet } from "../support/fleet.ts";

it("changes of two targets at once are each told of its own target, in any number", async () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const write = (text: string): void => {
    for (const line of text.trimEnd().split("\n")) lines.push(JSON.parse(line));
  };
  const pollingLog = createPollingLog(createLogger({ level: "info", format: "json" }, { write }));
  const uuid = (at: number) => `${String(at).padStart(8, "0")}-4b1e-4c5f-8d6a-0123456789ab`;
  const all = (status: "idle" | "occupied") => ({
    sandboxes: Array.from({ length: 4_100 }, (_, at) => ({
      sandboxId: uuid(at),
      status: "idle" as const,
      benchmark: null,
      servers: [server(uuid(at + 10_000), { status })],
    })),
    complete: true,
  });
  const judge = judgeBy([]);
  const fleets = ["one", "other"].map((key) => watchFleet({ region: "us", key }, { judge }));
  for (const { poll } of fleets) poll(all("idle"));
  const verdicts = fleets.map(({ watched, poll }) => ({
    watched,
    verdict: poll(all("occupied")),
  }));
  await Promise.all(
    verdicts.map(async ({ watched, verdict }) => {
      await pollingLog.committed(watched, verdict, 1);
    }),
  );
  for (const key of ["one", "other"]) {
    const told = lines.filter((line) => line["key"] === key);
    expect(told.map((line) => line["server_id"])).toEqual(
      Array.from({ length: 4_100 }, (_, at) => uuid(at + 10_000)),
    );
    expect(new Set(told.map(({ msg }) => String(msg).split(" ")[0]))).toEqual(
      new Set([`us/${key}`]),
    );
  }
});
