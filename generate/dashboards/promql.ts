import { statuses } from "../../src/fleet/model.ts";
import { numberOf } from "./colours.ts";

/** The chosen regions and keys. */
export const ofTarget = 'region=~"$region",key=~"$key"';

/** The chosen servers by name. */
export const ofName = `${ofTarget},server_name=~"$server_name"`;

/** The one chosen sandbox. */
export const ofSandbox = `${ofTarget},sandbox="$sandbox"`;

/** The one chosen server. */
export const ofServer = `${ofSandbox},server="$server"`;

/** The chosen sandwatch. */
export const ofInstance = 'instance=~"$instance"';

/** The labels that identify a server. */
export const identity = "region, key, sandbox, server";

export function series(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${matchers.join(",")}}`;
}

/** Each gauge once: two processes show it for a moment when one takes over from the other. */
export function once(selector: string, ...labels: readonly string[]): string {
  return `max by (${labels.join(", ")}) (${selector})`;
}

/** The numbers of servers, each once. */
export function servers(...matchers: readonly string[]): string {
  const selector = series("sandbox_servers", ...matchers);
  return once(selector, "region", "key", "server_name", "status");
}

/** The numbers of sandboxes, each once. */
export function sandboxes(...matchers: readonly string[]): string {
  return once(series("sandbox_sandboxes", ...matchers), "region", "key", "status");
}

/** Whether targets are up, each once. */
export function targetsUp(...matchers: readonly string[]): string {
  return once(series("sandwatch_target_up", ...matchers), "region", "key");
}

/** By the second, over a window that fits how far apart points and scrapes are. */
export function rate(selector: string): string {
  return `rate(${selector}[$__rate_interval])`;
}

/** As many as in such a window. */
export function increase(selector: string): string {
  return `increase(${selector}[$__rate_interval])`;
}

/**
 * A quantile of a histogram.
 *
 * @param metric without `_bucket`
 */
export function quantile(
  share: number,
  metric: string,
  matchers: string,
  by: readonly string[],
  window = "$__rate_interval",
): string {
  const buckets = `rate(${series(`${metric}_bucket`, matchers)}[${window}])`;
  return `histogram_quantile(${share}, sum by (${["le", ...by].join(", ")}) (${buckets}))`;
}

/** Series by name, of which one may be of servers without a name: Grafana would call it `Value`. */
export function named(expr: string): string {
  return `label_replace(\n  ${expr},\n  "server_name", "(no name)", "server_name", ""\n)`;
}

/**
 * The share of their time that servers were occupied: not of the time in which they were not seen, nor
 * in which their status was unknown. Absent where nothing was seen.
 */
export function occupancy(...by: readonly string[]): string {
  return occupiedShare("sandbox_server_status_seconds_total", ofName, by);
}

/** The same by name, over the whole time range. */
export function occupancyOfNames(): string {
  return occupiedShare("sandbox_server_status_seconds_total", ofName, ["server_name"], "$__range");
}

/** The same for sandboxes, which have no name. */
export function occupancyOfSandboxes(...by: readonly string[]): string {
  return occupiedShare("sandbox_status_seconds_total", ofTarget, by);
}

function occupiedShare(
  counter: string,
  chosen: string,
  by: readonly string[],
  window = "$__rate_interval",
): string {
  const seconds = (status: string): string =>
    `sum by (${by.join(", ")}) (rate(${series(counter, chosen, status)}[${window}]))`;
  return `${seconds('status="occupied"')}\n/ (${seconds('status!="unknown"')} > 0)`;
}

/**
 * The status of each server or sandbox as the number that `statusMapping` knows.
 *
 * @param metric has a series for each status, 1 for the one that it is in
 */
export function statusNumber(metric: string, matchers: string, by: string): string {
  const numbers = statuses.map(
    (status) => `${numberOf(status)} * ${series(metric, matchers, `status="${status}"`)}`,
  );
  return `max by (${by}) (\n  ${numbers.join("\n  or ")}\n)`;
}
