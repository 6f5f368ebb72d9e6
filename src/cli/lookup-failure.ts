import type { FailedView } from "../api/operations/lookups.ts";
import { printable } from "./table.ts";
import { cutToWidth } from "./text-width.ts";

/** What a failed look-up means and what to do, in lines for a person. */
export function explainFailure(failed: FailedView): string {
  return [meaningOf(failed), ...failed.validation.map(validationLine)].join("\n");
}

function meaningOf(failed: FailedView): string {
  const { region, key, status, detail } = failed;
  switch (failed.reason) {
    case "auth":
      return refusedKey(failed);
    case "rate_limited":
      return `The service limits the key ${key} in ${region} (HTTP 429). ${tryAgain(failed)}`;
    case "server_error":
      return `The service failed in ${region} (HTTP ${status}). ${tryAgain(failed)}`;
    case "http_error":
      return otherStatus(failed);
    case "timeout":
      return `The service did not answer in time in ${region}: ${detail}. Try again, or give it longer with poll.timeout.`;
    case "network":
      return `The service cannot be reached in ${region}: ${detail}. Check the region's base_url and the network.`;
    case "invalid_body":
      return `What was answered in ${region} is not what this operation promises: ${detail}. Check the region's base_url.`;
    case "too_large":
      return `The answer is too large: ${detail}. At most poll.max_body is read, and at most 8 MiB through a running sandwatch.`;
  }
}

function refusedKey({ region, key, status, detail }: FailedView): string {
  if (status === 401) {
    return `The service does not know the key ${key} in ${region} (HTTP 401). Check its api_key, and that it belongs to this region.`;
  }
  return status === 403
    ? `The service refuses the key ${key} in ${region} (HTTP 403): it is not valid there, or may not ask for this. Check its api_key, or choose another with --key.`
    : `The key ${key} cannot be sent: ${detail}. Check its api_key.`;
}

function otherStatus(failed: FailedView): string {
  const { operation, id, region, key, status, detail, problem } = failed;
  if (status === 422) {
    const what = id === null ? "the request" : `the id ${quoted(id)}`;
    const more = failed.validation.length === 0 ? ", and does not say why" : "";
    return printable(`The service in ${region} finds fault with ${what} (HTTP 422)${more}.`);
  }
  if (status === 400) {
    const what = id === null ? "the request" : `the id ${quoted(id)}`;
    return printable(
      `The service in ${region} says that the parameters are not correct (HTTP 400). Check ${what}.`,
    );
  }
  if (status === 404) {
    return problem === "operation_missing" || id === null
      ? `There is no such operation in ${region} (HTTP 404), whatever it is asked for. Check the region's base_url.`
      : printable(
          `The service knows no ${things[operation]} ${quoted(id)} in ${region}, or none that the key ${key} may see (HTTP 404). Check the id, and the region: each has its own.`,
        );
  }
  if (problem === "redirected") {
    return `The service in ${region} sends elsewhere (${detail}): the key is sent to no address but the configured one. Check the region's base_url.`;
  }
  return `The service in ${region} answers with HTTP ${status}, which its interface does not have. Check the region's base_url.`;
}

const things: Readonly<Record<FailedView["operation"], string>> = {
  user: "user",
  universes: "universes",
  "universe-data": "universe",
  "white-label": "client",
  sandboxes: "sandboxes",
};

function quoted(id: string): string {
  return JSON.stringify(cutToWidth(id, 80));
}

function tryAgain({ retry_after_seconds: seconds }: FailedView): string {
  return seconds === null ? "Try again in a while." : `Try again in ${Math.max(1, seconds)} s.`;
}

/** Where, what, and the name of the fault, as far as each is given. */
function validationLine({ loc, msg, type }: FailedView["validation"][number]): string {
  const where = loc.length === 0 ? "(no place given)" : loc.join(".");
  const kind = type === "" ? "" : ` (${type})`;
  return `  ${printable(`${where}: ${msg === "" ? "no message" : msg}${kind}`)}`;
}
