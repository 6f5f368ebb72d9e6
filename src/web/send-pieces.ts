import type { Transform, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";

/**
 * Writes pieces to a response, through a compressor if there is one, and ends it. One piece at a
 * time is asked for and on its way: the next one may be made of the same bytes, and a reader who is
 * slow makes the producer wait. After each the event loop is given way.
 *
 * However it ends, the iterator is ended too; a body that is not whole is broken off, so that nobody
 * takes it for the whole.
 *
 * @returns whether the reader got it all
 * @throws what the iterator throws
 */
export async function sendPieces(
  first: IteratorResult<Uint8Array, unknown>,
  rest: Iterator<Uint8Array>,
  { response, compressor }: { readonly response: Writable; readonly compressor: Transform | null },
): Promise<boolean> {
  const sink = compressor ?? response;
  let giveUp = (): void => {};
  const sent = (compressor ? pipeline(compressor, response) : finished(response)).then(
    () => true,
    () => {
      giveUp();
      return false;
    },
  );
  const written = (piece: Uint8Array): Promise<boolean> =>
    new Promise((resolve) => {
      giveUp = () => resolve(false);
      if (response.destroyed) return resolve(false);
      sink.write(piece, (error) => resolve(!error));
    });

  let whole = false;
  try {
    for (let step = first; !step.done; step = rest.next()) {
      if (!(await written(step.value))) return false;
      await setImmediate();
    }
    sink.end();
    whole = await sent;
    return whole;
  } finally {
    rest.return?.();
    if (!whole) response.destroy();
  }
}
