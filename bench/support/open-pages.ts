import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";

interface OpenPages extends AsyncDisposable {
  /** How many pages were fetched, and how many bytes of them. */
  readonly fetched: { pages: number; unchanged: number; bytes: number };
}

const refreshEveryMs = 10_000;
const leastBetweenMs = 1_000;

/** Status pages as browsers keep them open: each with a stream of events, after which it fetches the page again. */
export async function openPages(root: string, count: number): Promise<OpenPages> {
  const agent = new Agent({ keepAlive: true });
  const fetched = { pages: 0, unchanged: 0, bytes: 0 };
  const stops = await Promise.all(
    Array.from({ length: count }, async (_, index) => openPage(root, index / count)),
  );
  return {
    fetched,
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
      agent.destroy();
    },
  };

  async function openPage(address: string, phase: number): Promise<() => void> {
    let etag = "";
    let startedMs = 0;
    let timer: NodeJS.Timeout | undefined;
    let isStopped = false;
    const schedule = (afterMs: number): void => {
      clearTimeout(timer);
      const leastMs = startedMs + leastBetweenMs - performance.now();
      if (!isStopped) timer = setTimeout(() => void refresh(), Math.max(afterMs, leastMs));
    };
    const refresh = async (): Promise<void> => {
      startedMs = performance.now();
      const headers = { "accept-encoding": "gzip", ...(etag !== "" && { "if-none-match": etag }) };
      const response = await open(address, headers);
      for await (const chunk of response) fetched.bytes += Buffer.from(chunk).length;
      etag = response.headers.etag ?? "";
      if (response.statusCode === 304) fetched.unchanged += 1;
      else fetched.pages += 1;
      schedule(refreshEveryMs);
    };
    const stream = await open(`${address}api/v1/events?brief=true`);
    if (stream.statusCode !== 200) throw new Error(`the stream was refused: ${stream.statusCode}`);
    stream.on("data", (chunk) => {
      if (String(chunk).includes("event: news")) schedule(0);
    });
    stream.on("error", () => {});
    schedule(phase * refreshEveryMs);
    return () => {
      isStopped = true;
      clearTimeout(timer);
      stream.destroy();
    };
  }

  async function open(url: string, headers = {}): Promise<IncomingMessage> {
    const request = get(url, { agent, headers });
    const [response]: IncomingMessage[] = await once(request, "response");
    if (!response) throw new Error(`${url} was not answered`);
    return response;
  }
}
