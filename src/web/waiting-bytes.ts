import type { FastifyInstance, FastifyReply } from "fastify";

const usualBytes = 64 * 2 ** 20;

/**
 * Limits the bytes of all responses that are in memory as a whole until their clients have read them. Beyond the limit,
 * the response that has waited for longest is cut off. Streams are read as their clients read.
 */
export function limitWaitingBytes(
  server: FastifyInstance,
  mostBytes = usualBytes,
  onCutOff: (address: string | undefined) => void,
): void {
  /** The longest waiting first. */
  const waiting = new Map<FastifyReply["raw"], number>();
  let sum = 0;
  const forget = (response: FastifyReply["raw"]): void => {
    sum -= waiting.get(response) ?? 0;
    waiting.delete(response);
  };
  server.addHook("onSend", (_, { raw: response }, payload, done) => {
    // Nothing waits for a client that has left, and its response is closed already, so that it would never be forgotten.
    const isOpen = !response.destroyed;
    if (isOpen && (typeof payload === "string" || Buffer.isBuffer(payload))) {
      const bytes = Buffer.byteLength(payload);
      waiting.set(response, bytes);
      sum += bytes;
      response.once("close", () => forget(response));
      for (const [longest] of waiting) {
        if (sum <= mostBytes || longest === response) break;
        onCutOff(longest.socket?.remoteAddress);
        forget(longest);
        longest.destroy();
      }
    }
    done(null, payload);
  });
}
