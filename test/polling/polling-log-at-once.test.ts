import { expect, it } from "vitest";
import { createLogger } from "../../src/platform/logger.ts";
import { createPollingLog } from "../../src/polling/polling-log.ts";
import { judgeBy, server, watchFleet } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";

it("changes of two targets at once are each told of its own target, in any number", async () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const write = (text: string): void => {
    for (const line of text.trimEnd().split("\n")) lines.push(JSON.parse(line));
  };
  const pollingLog = createPollingLog(createLogger({ level: "info", format: "json" }, { write }));
  const uuid = (at: number) => `${String(at).padStart(8, "0")}-4b1e-4c5f-8d6a-0123456789ab`;
  const all = (status: "idle" | "occupied") => ({
    sandboxes: Array.from({ length: 4_100 }, (_, at) => ({
      id: uuid(at),
      status: "idle" as const,
      benchmark: null,
      servers: [server(uuid(at + 10_000), { status })],
    })),
    complete: true,
  });
  const judge = judgeBy([]);
  const fleets = ["one", "other"].map((key) => watchFleet({ region: "us", key }, { judge }));
  for (const { poll } of fleets) poll(all("idle"));
  // The second time there is what was used the first time, for one of them.
  for (const status of ["occupied", "idle"] as const) {
    const verdicts = fleets.map(({ watched, poll }) => ({ watched, verdict: poll(all(status)) }));
    await Promise.all(
      verdicts.map(async ({ watched, verdict }) => {
        await pollingLog.committed(watched, verdict, 1);
      }),
    );
  }
  const ids = Array.from({ length: 4_100 }, (_, at) => uuid(at + 10_000));
  for (const key of ["one", "other"]) {
    const told = lines.filter((line) => line["key"] === key);
    expect(told.map((line) => line["server_id"])).toEqual([...ids, ...ids]);
    expect(new Set(told.map(({ msg }) => String(msg).split(" ")[0]))).toEqual(
      new Set([`us/${key}`]),
    );
  }
});

it("changes of one target after another are each told of its own target, in the names of then", async () => {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const write = (text: string): void => {
    for (const line of text.trimEnd().split("\n")) lines.push(JSON.parse(line));
  };
  const pollingLog = createPollingLog(createLogger({ level: "info", format: "json" }, { write }));
  const uuid = (at: number) => `${String(at).padStart(8, "0")}-4b1e-4c5f-8d6a-0123456789ab`;
  const [one, other] = ["one", "other"].map((key) =>
    watchFleet({ region: "us", key }, { judge: judgeBy([]) }),
  );
  // More names than lines are kept for, of three polls together.
  const turns = [one, one, other, one, one, other].map((fleet, turn) => ({
    fleet,
    name: (at: number) => `name-${at % 200}-${turn > 3 ? turn : 0}`,
    status: turn % 2 === 0 ? ("idle" as const) : ("occupied" as const),
  }));
  const told: string[] = [];
  for (const { fleet, name, status } of [...turns, ...turns.toReversed()]) {
    if (!fleet) continue;
    const verdict = fleet.poll({
      sandboxes: Array.from({ length: 4_100 }, (_, at) => ({
        id: uuid(at),
        status: "idle" as const,
        benchmark: null,
        servers: [server(uuid(at + 10_000), { name: name(at), status })],
      })),
      complete: true,
    });
    const { key } = fleet.watched.target;
    for (const { serverId, serverName, from, to } of changesOf(verdict.diff)) {
      told.push(`us/${key} ${serverName} (${serverId.slice(0, 8)}): ${from} -> ${to}`);
    }
    await pollingLog.committed(fleet.watched, verdict, 1);
  }
  // Of first listings not all is told.
  const isSeen = (line: string): boolean => !line.includes("absent ->");
  const said = lines.map(({ msg }) => String(msg)).filter((line) => line.includes(" -> "));
  expect(said.filter(isSeen).length).toBeGreaterThan(20_000);
  expect(said.filter(isSeen)).toEqual(told.filter(isSeen));
});
