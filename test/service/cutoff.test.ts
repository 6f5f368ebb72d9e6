import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { Cutoff, SignalCutoffs } from "../../src/service/cutoff.ts";

function listening() {
  const cutoff = new Cutoff();
  const seen = { cutoff, ends: 0 };
  cutoff.listen(() => (seen.ends += 1));
  return seen;
}

it("a signal ends every request that waits for it, once, and no other", () => {
  const signals = new SignalCutoffs();
  const stop = new AbortController();
  const [one, other, over, unrelated] = [listening(), listening(), listening(), listening()];
  for (const { cutoff } of [one, other, over]) signals.add(stop.signal, cutoff);
  signals.add(new AbortController().signal, unrelated.cutoff);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
  signals.remove(stop.signal, over.cutoff);
  stop.abort();
  one.cutoff.end();
  expect([one, other, over, unrelated].map(({ ends }) => ends)).toEqual([1, 1, 0, 0]);
});

it("an aborted signal ends a request that begins", () => {
  const late = listening();
  new SignalCutoffs().add(AbortSignal.abort(), late.cutoff);
  expect(late).toMatchObject({ ends: 1, cutoff: { isEnded: true } });
});

it("nothing is left on a signal once the last request is over", () => {
  const signals = new SignalCutoffs();
  const { signal } = new AbortController();
  const [one, other] = [new Cutoff(), new Cutoff()];
  signals.add(signal, one);
  signals.add(signal, other);
  signals.remove(signal, one);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  signals.remove(signal, other);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  signals.add(signal, one);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
});
