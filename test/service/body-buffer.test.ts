import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import { BodyBuffer, BodyBuffers } from "../../src/service/body-buffer.ts";

it("a body buffer holds copies of the chunks of a body, up to its limit", () => {
  const buffer = new BodyBuffer(150_000);
  const chunk = Buffer.from("abc");
  for (let count = 0; count < 50_000; count++) expect(buffer.append(chunk)).toBe(true);
  expect(buffer.append(chunk)).toBe(false);
  chunk.fill("x");
  expect(buffer.bytes.equals(Buffer.from("abc".repeat(50_000)))).toBe(true);
  buffer.clear();
  expect(buffer.append(chunk) && buffer.bytes.toString()).toBe("xxx");
  expect(buffer.capacity).toBe(150_000);
});

it("a body buffer grows at once to the announced size of a body, within its limit", () => {
  const buffer = new BodyBuffer(150_000);
  buffer.reserve(100_000);
  expect(buffer.capacity).toBe(105_000);
  buffer.append(Buffer.alloc(100_000));
  expect(buffer.capacity).toBe(105_000);
  buffer.reserve(150_000);
  expect([buffer.capacity, buffer.bytes.length]).toEqual([150_000, 100_000]);
});

it("body buffers are used again, empty, up to a size, the last ones first", () => {
  const MB = 1024 * 1024;
  const buffers = new BodyBuffers(200 * MB);
  const taken = [70, 60, 60, 150].map((size) => {
    const buffer = buffers.take();
    buffer.append(Buffer.alloc(size * MB));
    return buffer;
  });
  for (const each of taken.slice(0, 3)) buffers.giveBack(each);
  expect([buffers.take(), buffers.take()]).toEqual([taken[2], taken[1]]);
  expect(taken).not.toContain(buffers.take());
  if (taken[3]) buffers.giveBack(taken[3]);
  expect(buffers.take()).toBe(taken[3]);
  expect(taken[3]?.bytes).toHaveLength(0);
});
