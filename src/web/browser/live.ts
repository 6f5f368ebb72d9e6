import { ageText } from "./age.ts";
import { morph } from "./morph.ts";
import { serverNow, setServerTime, showTimes, zone } from "./times.ts";

const refreshEveryMs = 10_000;
const leastBetweenMs = 1_000;
const retryMs = 2_000;
/** A page that did not arrive by then does not come. */
const longestWaitMs = 10_000;

const { root = "", assets, now } = document.documentElement.dataset;
const listeners = new Set<() => void>();

let stream: EventSource | null = null;
/** Monotonic milliseconds. */
let refreshStartedMs = Number.NEGATIVE_INFINITY;
let refreshTimer = 0;
let isRefreshing = false;
let isWanted = false;
let etag: string | null = null;
/** By the server's clock. */
let updatedAtMs = Number(now);
let lost: { readonly atMs: number; readonly why: string } | null = null;

/** Calls back whenever the page was refreshed. Not while it is hidden. */
export function onNews(callback: () => void): void {
  listeners.add(callback);
}

/** Fetches the page again, now or as soon as one that is under way has come. */
export async function refresh(): Promise<void> {
  if (isRefreshing) {
    isWanted = true;
    return;
  }
  isRefreshing = true;
  isWanted = false;
  refreshStartedMs = performance.now();
  try {
    await fetchPage();
    lost = null;
  } catch (error) {
    lost ??= { atMs: serverNow(), why: error instanceof Refusal ? error.message : "" };
  }
  isRefreshing = false;
  showConnection();
  if (lost === null) for (const each of listeners) each();
  scheduleRefresh(isWanted ? leastBetweenMs : lost === null ? refreshEveryMs : retryMs);
}

class Refusal extends Error {}

async function fetchPage(): Promise<void> {
  // Where there is no page, others are answered with text.
  const headers = { accept: "text/html", ...(etag !== null && { "if-none-match": etag }) };
  const signal = AbortSignal.timeout(longestWaitMs);
  const response = await fetch(location.href, { headers, signal, cache: "no-store" });
  if (response.status !== 304) {
    const next = new DOMParser().parseFromString(await response.text(), "text/html");
    const { dataset } = next.documentElement;
    // Something in front of the server may answer, such as a log-in.
    if (dataset["now"] === undefined) throw new Refusal(`HTTP ${response.status}`);
    if (dataset["assets"] !== assets) return location.reload();
    setServerTime(Number(dataset["now"]));
    etag = response.headers.get("etag");
    show(next);
  }
  updatedAtMs = serverNow();
}

function show(next: Document): void {
  showTimes(next);
  showTimes();
  document.title = next.title;
  const [main, nextMain] = [document.querySelector("main"), next.querySelector("main")];
  if (!main || !nextMain) return;
  // Other parts than before: a card has come or gone, or the page says that what it was about is no longer there.
  if (partsOf(main) !== partsOf(nextMain)) return morph(main, nextMain);
  for (const element of main.querySelectorAll("[data-live]")) {
    const wanted = next.getElementById(element.id);
    if (wanted) morph(element, wanted);
  }
}

function partsOf(main: Element): string {
  return Array.from(main.querySelectorAll("[data-live]"), ({ id }) => id).join(" ");
}

/** At most once a second, whatever is asked for. */
function scheduleRefresh(afterMs: number): void {
  clearTimeout(refreshTimer);
  if (document.hidden) return;
  const leastMs = refreshStartedMs + leastBetweenMs - performance.now();
  refreshTimer = setTimeout(() => void refresh(), Math.max(afterMs, leastMs));
}

function openStream(): void {
  if (stream !== null || document.hidden) return;
  const opened = new EventSource(`${root}api/v1/events?brief=true`);
  stream = opened;
  opened.addEventListener("open", showConnection);
  opened.addEventListener("news", () => scheduleRefresh(0));
  opened.addEventListener("error", () => {
    // Otherwise the browser opens it again by itself.
    if (opened.readyState === EventSource.CLOSED && stream === opened) {
      stream = null;
      setTimeout(openStream, retryMs);
    }
    scheduleRefresh(0);
  });
}

function closeStream(): void {
  stream?.close();
  stream = null;
  clearTimeout(refreshTimer);
}

function showConnection(): void {
  const place = document.querySelector("#connection");
  const status = place?.querySelector("[role=status]");
  const updated = place?.querySelector(".updated");
  if (!place || !status || !updated) return;
  const isLive = stream?.readyState === EventSource.OPEN;
  place.classList.toggle("lost", lost !== null);
  place.classList.toggle("live", lost === null && isLive);
  const said = lost !== null ? "Connection lost" : isLive ? "Live" : "Connected";
  if (status.textContent !== said) status.textContent = said;
  const age = ageText(serverNow() - (lost?.atMs ?? updatedAtMs));
  updated.textContent =
    lost === null
      ? ` · updated ${age} ago · ${zone}`
      : ` ${age} ago, trying again${lost.why === "" ? "" : ` (${lost.why})`}`;
}

/** Keeps the page current from now on. */
export function keepLive(): void {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return closeStream();
    openStream();
    void refresh();
  });

  setServerTime(updatedAtMs);
  showTimes();
  showConnection();
  openStream();
  scheduleRefresh(refreshEveryMs);
  setInterval(() => {
    if (document.hidden) return;
    showTimes();
    showConnection();
  }, 1_000);
}
