import { describe, expect, it, onTestFinished } from "vitest";
import { openForQueries } from "../../src/app/offline.ts";
import { createApi } from "../../src/api/operation.ts";
import { readEvents } from "../../src/api/operations/events.ts";
import { addTarget } from "../support/add-target.ts";
import { judgeBy, listing, serverError, watchFleet } from "../support/fleet.ts";
import { testConfig } from "../support/test-config.ts";
import { openPostgres } from "../../src/store/postgres/database.ts";
import { createStore } from "../../src/store/store.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";

const keys = ["a", "b", "c", "d", "e", "f"];
const pollsOfEach = 30;

const eventOf = (view: object): string =>
  JSON.stringify(Object.values(view).filter((value) => typeof value === "string"));

describe("a reader that follows events", () => {
  it("misses none and sees no change twice while polls are committed", async () => {
    const settings = postgresSettings(postgresFolder ?? "", `events_${process.pid}`);
    const opened = await openPostgres(settings);
    const writer = createStore(opened.kysely, opened.close, opened);
    onTestFinished(() => writer.close());
    const config = testConfig({
      regions: { us: { base_url: "https://us.example" } },
      keys: keys.map((name) => ({ name, api_key: `secret-of-${name}`, regions: ["us"] })),
    });
    const store = { path: "", postgres: settings };
    await using offline = await openForQueries({ ...config, store });
    const api = createApi(offline.context);
    let { after } = await readEvents(api, {});

    const targets = keys.map((key) => ({ region: "us", key }));
    const ids: number[] = [];
    for (const target of targets) ids.push((await addTarget(writer, target)).id);
    const polling = targets.map(async (target, index) => {
      const { key } = target;
      let incidents = 0;
      const judge = { ...judgeBy([serverError]), newIncidentId: () => `${key}-${++incidents}` };
      const { poll } = watchFleet(target, { judge });
      for (let n = 0; n < pollsOfEach; n += 1) {
        await writer.commitPoll(
          ids[index] ?? 0,
          poll(listing({ a: n % 3 === 2 ? "error" : "idle" })),
        );
      }
    });
    let isPolling = true;
    const polled = Promise.all(polling).finally(() => (isPolling = false));

    const changes: string[] = [];
    const incidents = new Map<string, unknown>();
    for (;;) {
      const wasPolling = isPolling;
      const news = await readEvents(api, { after });
      ({ after } = news);
      for (const { kind, view } of news.events) {
        if (kind === "change") changes.push(eventOf(view));
        else incidents.set(Object(view).id, Object(view).state);
      }
      if (!wasPolling && !news.hasMore) break;
    }
    await polled;

    // The sandbox and the server appear, and the server then fails and recovers in turn.
    const changesOfEach = 2 + Math.floor(pollsOfEach / 3) + Math.floor((pollsOfEach - 1) / 3);
    expect(changes).toHaveLength(keys.length * changesOfEach);
    expect(new Set(changes).size).toBe(changes.length);
    const stored = await writer.incidents.page({ limit: 1_000, before: null });
    expect(stored).toHaveLength((keys.length * pollsOfEach) / 3);
    const states = stored.map(({ incident: { id, phase } }) => [id, phase.name] as const);
    expect(incidents).toEqual(new Map(states));
  });
});
