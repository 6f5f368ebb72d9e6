import type { ScrapeSource } from "../../../src/web/scrape-route.ts";

/** A source of these texts, which uses the bytes of a piece again for the next one. */
export function exposing(render: () => Promise<Iterable<string>>): ScrapeSource {
  return {
    async scrape() {
      return { kind: "exposition", pieces: inSameBytes(await render()) };
    },
  };
}

function* inSameBytes(texts: Iterable<string>): Iterable<Uint8Array> {
  let buffer = Buffer.alloc(0);
  for (const text of texts) {
    const bytes = Buffer.from(text);
    if (bytes.length > buffer.length) buffer = bytes;
    else buffer.set(bytes);
    yield buffer.subarray(0, bytes.length);
    buffer.fill("!");
  }
}
