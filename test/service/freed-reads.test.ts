import type { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Pool } from "undici";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { createTransport } from "../../src/service/transport.ts";
import { answerJson, startPeer } from "./peer.ts";

const answer = { text: "x".repeat(40_000) };
const body = JSON.stringify(answer);

/** Asks twice over one connection. Gives what was read, as text, and the chunks that it came in. */
async function readTwice(baseUrl: string, isOwn: boolean) {
  const transport = createTransport({
    baseUrl,
    timeoutMs: 10_000,
    maxBodyBytes: 1_000_000,
    clock: systemClock,
    createDispatcher: isOwn ? undefined : () => new Pool(baseUrl),
  });
  const texts: string[] = [];
  const chunks: Buffer[] = [];
  for (let time = 0; time < 2; time++) {
    let text = "";
    let hasEnded = false;
    await transport.get({
      path: "/",
      headers: {},
      signal: undefined,
      mayResend: () => false,
      openReader: () => ({
        push(chunk) {
          chunks.push(chunk);
          text += chunk.toString();
        },
        end: () => (hasEnded = true),
        advance: () => (hasEnded ? "done" : "hungry"),
      }),
    });
    texts.push(text);
    await nextTurn();
    await nextTurn();
  }
  await transport.close();
  return { texts, chunks };
}

test("what an answer's head was read with is freed once the answer is read to its end", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, answer));
  const { texts, chunks } = await readTwice(peer.baseUrl, true);
  expect(texts.map((text) => text === body)).toEqual([true, true]);
  expect(peer.sockets).toHaveLength(1);
  expect(chunks[0]?.buffer).toMatchObject({ detached: true });
});

test("what another one's dispatcher hands out is left alone", async () => {
  const peer = await startPeer((_request, response) => answerJson(response, answer));
  const { texts, chunks } = await readTwice(peer.baseUrl, false);
  expect(texts.map((text) => text === body)).toEqual([true, true]);
  expect(chunks.map((chunk) => chunk.toString()).join("") === body + body).toBe(true);
});
