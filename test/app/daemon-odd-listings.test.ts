import { expect, it } from "vitest";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";

const sandbox = (id: string, status: string, odd: object = {}): object => ({
  local_sandbox_id: id,
  created_at: "2026-02-16T12:45:25Z",
  servers: [{ id: `${id}-1`, server_name: "git", status, ...odd }],
});
const listing = (...items: readonly unknown[]): string =>
  JSON.stringify({ local_sandboxes: items, total_count: items.length });
const [a, b, odd] = [sandbox("a", "idle"), sandbox("b", "idle"), sandbox("x\0", "idle")];

/** A daemon that polls a service whose answer to every request is a text. */
async function watchText(first: string) {
  let body = first;
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  const world = await watchWorld({ baseUrl });
  await world.poll(2);
  const lines = (wanted: string) => world.log.filter(({ event }) => event === wanted);
  return {
    world,
    lines,
    pollText: async (text: string, times = 2): Promise<void> => {
      body = text;
      await world.poll(times);
    },
    changes: () =>
      lines("sandbox.changed").map(({ msg }) => String(msg).replace("us/research ", "")),
    errors: () =>
      world.alerts
        .filter(({ data }) => data.rule === "server-error")
        .flatMap(({ data }) => data.incidents.map(({ server_id: id }) => id)),
  };
}

it.each<[object | null, string, string]>([
  [null, "[1]", "null"],
  [sandbox("c", "idle", { id: "x\0" }), "[1].servers[0].id", "invalid_character"],
])(
  "what cannot be kept is logged once, and all else is watched: %#",
  async (item, part, problem) => {
    const { pollText, lines, changes, errors } = await watchText(listing(a, b));
    await pollText(listing(sandbox("a", "error"), item, sandbox("b", "error")), 3);
    expect(errors()).toEqual(["a-1", "b-1"]);
    const place = `local_sandboxes${part}`;
    expect(lines("listing.item_not_kept")).toMatchObject([{ place, problem }]);
    expect(lines("listing.partial")).toMatchObject([{ not_kept: 1 }]);
    await pollText(listing(sandbox("a", "error")));
    expect(lines("listing.complete")).toHaveLength(1);
    expect(changes()).toContain("sandbox b: error -> absent (1 server)");
  },
);

it("what cannot be kept is logged again only once it is another one, at any place", async () => {
  const { pollText, lines } = await watchText(listing(a, odd, b));
  for (const body of [
    listing(odd, b, a),
    listing(odd, b, odd),
    listing(a, b),
    listing(a, odd, b),
  ]) {
    await pollText(body);
  }
  expect(lines("listing.item_not_kept").map(({ place }) => place)).toEqual([
    "local_sandboxes[1].local_sandbox_id",
    "local_sandboxes[2].local_sandbox_id",
    "local_sandboxes[1].local_sandbox_id",
  ]);
  const counts = ["listing.partial", "listing.complete"].map((each) => lines(each).length);
  expect(counts).toEqual([2, 1]);
});

it("the status page and the API say why a listing is partial, and why a poll failed", async () => {
  const { world, pollText } = await watchText(listing(a, b).replace("2}", "null}"));
  const address = await world.address();
  const read = async (path: string): Promise<string> => (await fetch(address + path)).text();
  const readPage = async (): Promise<string> =>
    (await read("/")).replaceAll(/(?:<[^>]+>|\s)+/g, " ");
  const target = async (): Promise<unknown> => JSON.parse(await read("/api/v1/targets")).targets[0];
  const partial = "total_count is null";
  expect(await readPage()).toContain(`up, partial ${partial}`);
  expect(await target()).toMatchObject({ up: true, partial, last_failure_detail: null });
  await pollText("<html>");
  const detail = "the body is not JSON (at byte 0)";
  expect(await readPage()).toMatch(new RegExp(`down \\d+ s ${RegExp.escape(detail)}`));
  expect(await target()).toMatchObject({ up: false, partial: null, last_failure_detail: detail });
});
