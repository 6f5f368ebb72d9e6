import { Buffer } from "node:buffer";
import { Pool } from "undici";
import { freeBuffer } from "../../src/platform/free-buffer.ts";

/** The HTTP client alone, without anything else that the daemon does. */
export interface Receiving extends AsyncDisposable {
  /**
   * Asks for a listing and drops its bytes. Gives how many there were. Their memory is given back as the
   * daemon does: as garbage they would make V8 look through all memory, a few times as long as receiving
   * takes, and what is held against this would seem to cost less than it does.
   */
  drop(name: string): Promise<number>;
  /** Asks for a listing and keeps it. */
  keep(name: string): Promise<Buffer>;
}

export function createReceiving(origin: string): Receiving {
  const pool = new Pool(origin, { headersTimeout: 0, bodyTimeout: 0 });
  const receive = (name: string, take: (chunk: Buffer) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      pool.dispatch(
        { method: "GET", path: `/${name}/local-sandbox` },
        {
          onRequestStart() {},
          onResponseStart(_controller, status) {
            if (status !== 200) reject(new Error(`HTTP ${status}`));
          },
          onResponseData: (_controller, chunk) => take(chunk),
          onResponseEnd: () => resolve(),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  return {
    async drop(name) {
      let bytes = 0;
      await receive(name, (chunk) => {
        bytes += chunk.length;
        freeBuffer(chunk);
      });
      return bytes;
    },
    async keep(name) {
      const chunks: Buffer[] = [];
      await receive(name, (chunk) => void chunks.push(Buffer.from(chunk)));
      return Buffer.concat(chunks);
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}
