import { expect, test } from "vitest";
import { createTestClient, startPeer } from "./peer.ts";
import { listing, sandbox, server } from "./wire.ts";

/** What comes of a listing in which a sandbox comes twice, with so many servers together. */
async function answerWith(servers: number) {
  const all = Array.from({ length: servers }, (_, at) => ({ ...server, id: `server-${at}` }));
  const halves = [all.slice(0, servers / 2), all.slice(servers / 2)];
  const twins = halves.map((half) => ({ ...sandbox, servers: half }));
  const body = JSON.stringify(listing(twins, 1));
  const peer = await startPeer((_request, response) => void response.end(body));
  const { client, call } = createTestClient(peer.baseUrl, { maxBodyBytes: body.length });
  return client.listSandboxes(call);
}

test("a sandbox that comes twice with absurdly many servers makes a listing too large", async () => {
  expect(await answerWith(10_001)).toMatchObject({
    kind: "failed",
    reason: "too_large",
    status: 200,
    detail: "a sandbox that comes more than once holds more than 10000 servers",
  });
});

test("a sandbox that comes twice is taken with as many servers as it may have", async () => {
  expect(await answerWith(10_000)).toMatchObject({ kind: "ok", value: { partial: null } });
});
