import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { Secret } from "../../../src/lib/secret.ts";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers one request; one that does nothing leaves the request hanging. */
export type Answer = (response: ServerResponse, request: ReceivedRequest, index: number) => void;

export interface ReceiverServer {
  readonly origin: string;
  readonly url: Secret;
  readonly requests: readonly ReceivedRequest[];
  /** The most requests that were unanswered at the same time. */
  readonly mostOpen: number;
  answerWith(answer: Answer): void;
  /** Resolves when so many requests have come in all. */
  received(count: number): Promise<void>;
  /** The `webhook-id` of every request, in order. */
  ids(): readonly (string | string[] | undefined)[];
}

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end();

export const hang: Answer = () => {};

/** A receiver on a port of its own, gone when the test ends. */
export async function startReceiverServer(initial: Answer = status(204)): Promise<ReceiverServer> {
  const requests: ReceivedRequest[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let answer = initial;
  let open = 0;
  let mostOpen = 0;

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const request = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      requests.push(request);
      mostOpen = Math.max(mostOpen, ++open);
      response.on("close", () => open--);
      answer(response, request, requests.length - 1);
      waiting.filter(({ count }) => count <= requests.length).forEach(({ resolve }) => resolve());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${portOf(server.address())}`;

  return {
    origin,
    url: new Secret(`${origin}/hook/T0PSECRET?token=T0PSECRET`),
    requests,
    get mostOpen() {
      return mostOpen;
    },
    answerWith: (next) => {
      answer = next;
    },
    received: (count) =>
      new Promise((resolve) => {
        if (requests.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    ids: () => requests.map(({ headers }) => headers["webhook-id"]),
  };
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return address.port;
}
