import { Buffer } from "node:buffer";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { readPlainBody } from "../../bench/support/plain-body.ts";

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/metrics`;
}

async function read(url: string): Promise<string> {
  const parts: string[] = [];
  await readPlainBody(url, (bytes) => parts.push(bytes.toString("latin1")));
  return parts.join("");
}

it("gives a body of any chunks as it is", async () => {
  const chunks = Array.from({ length: 300 }, (_, index) =>
    Buffer.alloc(1 + ((index * 7_919) % 90_000), `${index}\r\n`),
  );
  const url = await serve((_, response) => {
    for (const chunk of chunks) response.write(chunk);
    response.end();
  });
  expect(await read(url)).toBe(Buffer.concat(chunks).toString("latin1"));
});

it("rejects a body that breaks off, and any other answer", async () => {
  const broken = await serve((_, response) => {
    response.write("some");
    setImmediate(() => response.destroy());
  });
  await expect(read(broken)).rejects.toThrow("broke off");
  const refused = await serve((_, response) => void response.writeHead(503).end("busy"));
  await expect(read(refused)).rejects.toThrow("503");
});
