import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";

export interface RawResponse {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Everything that was received. */
  readonly text: string;
}

/**
 * Sends bytes as they are, and gives the response once the server closed the connection or began an event stream.
 * Without a response its status is 0. `isCutOff`: nothing follows, though the request may be incomplete.
 */
export async function sendRaw(
  address: string,
  bytes: string | Uint8Array,
  { isCutOff = false } = {},
): Promise<RawResponse> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const closed = once(socket, "close").catch(() => {});
  socket.on("error", () => {});
  socket.write(bytes);
  if (isCutOff) socket.end();
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += String(chunk);
    if (/^content-type: text\/event-stream/im.test(text)) socket.destroy();
  });
  await closed;
  return parseResponse(text.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ""));
}

function parseResponse(text: string): RawResponse {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0);
  // What follows is of another response, to what a parser took for another request.
  const body = rest.join("\r\n\r\n").slice(0, Number(headers.get("content-length") ?? Infinity));
  return { status, headers, body, text };
}
