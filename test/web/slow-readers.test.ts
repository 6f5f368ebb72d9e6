import { expect, it } from "vitest";
import { limitReaders } from "../../src/web/slow-readers.ts";
import { createFakeClock } from "../support/fake-clock.ts";

it("one host holds at most half of the places, with however many addresses of its network", () => {
  const readers = limitReaders(createFakeClock(), 8, 60_000);
  const cut: number[] = [];
  for (let host = 1; host <= 8; host += 1) {
    const reader = readers.admit({ identity: null, ip: `2001:db8::${host}` });
    if (reader) reader.cutOff = () => cut.push(host);
  }
  const ips = ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1"];
  const admitted = ips.map((ip) => readers.admit({ identity: null, ip }));
  expect(admitted.map((reader) => reader !== null)).toEqual([true, true, true, true, false]);
  expect(cut).toEqual([1, 2, 3, 4]);
});
