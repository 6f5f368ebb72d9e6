import { describe, expect, it, onTestFinished } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { findServer } from "../../src/api/find.ts";
import { createApi } from "../../src/api/operation.ts";
import type { FleetContext } from "../../src/api/context.ts";
import { listServers } from "../../src/api/operations/servers.ts";
import { storedSources } from "../../src/reports/sources.ts";
import type { Store } from "../../src/store/store.ts";
import { openStore } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { research, server, watchFleet } from "../support/fleet.ts";

const nothing = { rules: [], receivers: [], probes: [] };
const sandboxCount = 6_000;

function testStore(): Store {
  const store = openStore(freshStoreFile());
  onTestFinished(() => store.close());
  return store;
}

/** A target that was polled once, and what it is seen as when it is polled next. */
function polledOnce() {
  const { watched, poll } = watchFleet();
  poll(listed("idle"));
  return {
    watched,
    pollAgain: () => void poll(listed("error")),
  };
}

/** A server in each sandbox. */
function listed(status: Status) {
  const sandboxes = Array.from({ length: sandboxCount }, (_, box) => ({
    id: `box-${String(box).padStart(5, "0")}`,
    status,
    benchmark: null,
    servers: [server(`server-${String(box).padStart(5, "0")}`, { status })],
  }));
  return { complete: true, sandboxes };
}

describe("what reads the servers of a target, while a poll brings all of them other statuses,", () => {
  it("lists them as they were when it began", async () => {
    const { watched, pollAgain } = polledOnce();
    const listing = createApi<FleetContext>({ targets: [watched], ...nothing })(listServers, {
      limit: 1_000,
    });
    pollAgain();
    const { servers } = await listing;
    expect(servers).toHaveLength(1_000);
    expect(new Set(servers.map(({ status }) => status))).toEqual(new Set(["idle"]));
  });

  it("finds one in the status that it had when it began", async () => {
    const { watched, pollAgain } = polledOnce();
    const finding = findServer("server-05999", [watched], testStore());
    pollAgain();
    expect((await finding).listed).toMatchObject([{ server: { status: "idle" } }]);
  });

  it("reports of those that there were when it asked", async () => {
    const { watched, pollAgain } = polledOnce();
    const present = await storedSources(testStore(), [research], [watched]).present(research);
    pollAgain();
    const statuses = Array.from(present.servers, ({ status }) => status);
    expect(statuses).toHaveLength(sandboxCount);
    expect(new Set(statuses)).toEqual(new Set(["idle"]));
  });
});
