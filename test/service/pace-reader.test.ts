import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { paceReader } from "../../src/service/pace-reader.ts";
import { answerJson, createTestClient, startPeer } from "./peer.ts";
import { listing, sandbox } from "./wire.ts";

type Turn = "busy" | "hungry" | "done";

/** A reader whose next steps are given, and all that happens around it. */
function start(turns: Turn[], piecesSent?: () => number) {
  const log: string[] = [];
  const reader = {
    push: (chunk: Buffer) => void log.push(`push ${chunk.toString()}`),
    end: () => void log.push("end"),
    advance: () => turns.shift() ?? "hungry",
  };
  const flow = { pause: () => void log.push("pause"), resume: () => void log.push("resume") };
  const given = new AbortController();
  const ends = {
    isGivenUp: () => given.signal.aborted,
    done: (isWhole: boolean) => void log.push(`done ${isWhole}`),
    failed: () => void log.push("failed"),
  };
  const paced = paceReader(reader, flow, ends, piecesSent);
  return { log, turns, paced, giveUp: () => given.abort() };
}

test("while the reader is busy nothing is to come, and what comes all the same waits", async () => {
  const { log, paced } = start(["busy", "busy", "hungry"]);
  paced.push(Buffer.from("a"));
  paced.push(Buffer.from("b"));
  expect(log).toEqual(["push a", "pause", "push b"]);
  await nextTurn();
  expect(log).toEqual(["push a", "pause", "push b", "pause"]);
  await nextTurn();
  expect(log).toEqual(["push a", "pause", "push b", "pause", "resume"]);
});

test("behind the end of a body its connection is left alone", async () => {
  const { log, paced } = start(["busy", "busy", "hungry", "done"]);
  paced.push(Buffer.from("a"));
  paced.end();
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  expect(log).toEqual(["push a", "pause", "end"]);
});

test("a reader that nobody waits for reads no more", async () => {
  const { log, turns, paced, giveUp } = start(["busy", "done"]);
  paced.push(Buffer.from("a"));
  giveUp();
  await nextTurn();
  paced.end();
  expect(turns).toEqual(["done"]);
  expect(log).toEqual(["push a", "pause", "end"]);
});

test("as long as a piece is sent at each turn, 64 of them go first", async () => {
  let sent = 0;
  const { turns, paced } = start(["busy", "busy", "busy"], () => sent);
  paced.push(Buffer.from("a"));
  for (const each of [1, 2]) {
    while (turns.length === 3 - each) {
      sent += 1;
      await nextTurn();
    }
    expect(sent).toBe(each * 64);
  }
});

test("what is sent at fewer turns, as to a slow scraper, holds no reading up", async () => {
  let sent = 0;
  const { turns, paced } = start(["busy", "busy", "busy", "busy", "busy"], () => sent);
  paced.push(Buffer.from("a"));
  for (let turn = 0; turn < 8; turn++) {
    if (turn % 2 === 0) sent += 1;
    await nextTurn();
  }
  expect(turns).toEqual([]);
});

test("however much is sent, a body is held up for so long and no longer", async () => {
  let sent = 0;
  const { turns, paced } = start(
    Array.from({ length: 400 }, () => "busy"),
    () => sent,
  );
  paced.push(Buffer.from("a"));
  while (turns.length > 100) {
    sent += 1;
    await nextTurn();
  }
  // 32 turns waited for 64 pieces each, the others for one.
  expect(sent).toBe(32 * 64 + 267);
});

test("a long listing is held back for what is sent meanwhile, a short one for nothing", async () => {
  const asksFor = async (sandboxes: number): Promise<number> => {
    const body = listing(Array.from({ length: sandboxes }, () => sandbox));
    const peer = await startPeer((_request, response) => answerJson(response, body));
    let asks = 0;
    const { client, call } = createTestClient(peer.baseUrl, { piecesSent: () => ++asks });
    expect(await client.listSandboxes(call)).toMatchObject({ kind: "ok" });
    return asks;
  };
  expect(await asksFor(1)).toBe(0);
  expect(await asksFor(1_000)).toBeGreaterThan(16);
});
