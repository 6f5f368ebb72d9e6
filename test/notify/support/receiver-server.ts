import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Secret } from "../../../src/lib/secret.ts";
import { listenOnLoopback } from "../../support/listen.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers one request; one that does nothing leaves the request hanging. */
export type Answer = (response: ServerResponse, request: ReceivedRequest, index: number) => void;

export const status =
  (code: number, headers: Record<string, string> = {}, body = ""): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(body);

export const hang: Answer = () => {};

export type ReceiverServer = Awaited<ReturnType<typeof startReceiverServer>>;

/** A receiver on a port of its own, gone when the test ends. */
export async function startReceiverServer(initial: Answer = status(204)) {
  const requests: ReceivedRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let answer = initial;
  let open = 0;
  let mostOpen = 0;

  const server = createServer((incoming, response) => {
    const receive = async (): Promise<void> => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, path: url, headers, body: await text(incoming) };
      requests.push(request);
      mostOpen = Math.max(mostOpen, ++open);
      response.on("close", () => open--);
      answer(response, request, requests.length - 1);
      waiting.filter(({ count }) => count <= requests.length).forEach(({ resolve }) => resolve());
    };
    void receive();
  });
  const origin = `http://127.0.0.1:${await listenOnLoopback(server)}`;

  return {
    origin,
    url: new Secret(`${origin}/hook/T0PSECRET?token=T0PSECRET`),
    requests: requests as readonly ReceivedRequest[],
    /** The most requests that were unanswered at the same time. */
    get mostOpen() {
      return mostOpen;
    },
    answerWith(next: Answer): void {
      answer = next;
    },
    /** Resolves when this many requests have come in all. */
    received: (count: number): Promise<void> =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    /** The `webhook-id` of every request, in order. */
    ids: () => requests.map(({ headers }) => headers["webhook-id"]),
  };
}
