import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect } from "node:net";
import { createExpositionReader } from "./exposition-reader.ts";
import type { Exposition } from "./exposition-reader.ts";

const bufferBytes = 1024 * 1024;
const headEnd = Buffer.from("\r\n\r\n");
const answered = /^HTTP\/1\.[01] 200 /;

/**
 * Scrapes in HTTP/1.0, whose body ends with the connection: a client that takes chunks apart takes
 * longer over a gigabyte than the daemon does. Rejects unless the answer's status is 200; whether it
 * is whole is for the caller to see.
 */
export async function scrapeBySocket(url: string): Promise<Exposition> {
  const { hostname, port, pathname } = new URL(url);
  const reader = createExpositionReader();
  let head: Buffer | null = Buffer.alloc(0);
  const take = (bytes: Buffer): void => {
    if (head === null) return reader.push(bytes);
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf(headEnd);
    if (end === -1) return;
    if (!answered.test(head.toString("latin1", 0, end))) throw new Error("a scrape was refused");
    reader.push(head.subarray(end + headEnd.length));
    head = null;
  };
  const buffer = Buffer.alloc(bufferBytes);
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback(count) {
        try {
          take(buffer.subarray(0, count));
        } catch (error) {
          socket.destroy(error instanceof Error ? error : undefined);
        }
        return true;
      },
    },
  });
  socket.write(`GET ${pathname} HTTP/1.0\r\nHost: ${hostname}:${port}\r\n\r\n`);
  await once(socket, "close");
  return reader.end();
}
