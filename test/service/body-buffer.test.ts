import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { BodyBuffer, BodyBuffers } from "../../src/service/body-buffer.ts";

describe("a body buffer", () => {
  it("holds the chunks of a body one behind the other, and as copies", () => {
    const buffer = new BodyBuffer(1_000_000);
    const chunk = Buffer.from("abc");
    for (let count = 0; count < 50_000; count++) expect(buffer.append(chunk)).toBe(true);
    chunk.fill("x");
    expect(buffer.bytes.equals(Buffer.from("abc".repeat(50_000)))).toBe(true);
    buffer.clear();
    expect(buffer.append(chunk) && buffer.bytes.toString()).toBe("xxx");
  });

  it("takes a body as long as it may be, and no longer one", () => {
    const buffer = new BodyBuffer(10);
    expect(buffer.append(Buffer.from("0123456789x"))).toBe(false);
    expect(buffer.append(Buffer.from("0123456789"))).toBe(true);
    expect(buffer.append(Buffer.from("x"))).toBe(false);
    expect([buffer.bytes.toString(), buffer.capacity]).toEqual(["0123456789", 10]);
  });
});

describe("body buffers", () => {
  it("are used again, empty, the one that was given back last before the others", () => {
    const buffers = new BodyBuffers(1_000_000);
    const [one, other] = [buffers.take(), buffers.take()];
    expect(one).not.toBe(other);
    one.append(Buffer.from("abc"));
    buffers.giveBack(other);
    buffers.giveBack(one);
    expect([buffers.take(), buffers.take()]).toEqual([one, other]);
    expect(one.bytes).toHaveLength(0);
  });

  it("do not keep more than they may, but for the one used last", () => {
    const buffers = new BodyBuffers(1_000_000, 150_000);
    const taken = [80_000, 60_000, 70_000, 500_000].map((bytes) => {
      const buffer = buffers.take();
      buffer.append(Buffer.alloc(bytes));
      return buffer;
    });
    const [first, second, third, large] = taken;
    if (!first || !second || !third || !large) throw new Error("there are four");
    for (const each of [first, second, third]) buffers.giveBack(each);
    expect([buffers.take(), buffers.take()]).toEqual([third, second]);
    expect(buffers.take()).not.toBe(first);
    buffers.giveBack(large);
    expect(buffers.take()).toBe(large);
  });
});
