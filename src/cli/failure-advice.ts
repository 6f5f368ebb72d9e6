import type { OperationProblem } from "../fleet/deviation.ts";
import type { FailureReason } from "../fleet/model.ts";

/** A failed call of the service. */
export interface Failed {
  readonly reason: FailureReason;
  /** The HTTP status; null: there was no response. */
  readonly status: number | null;
  readonly detail: string;
  readonly problem: OperationProblem | null;
}

/** Advice on how to fix it. */
export function adviceFor({ reason, status, problem, detail }: Failed): string {
  const failure = `${reason} ${status} ${problem} ${detail}`;
  return advice.find(([pattern]) => pattern.test(failure))?.[1] ?? "";
}

/** The first pattern that matches counts. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /proxy .*HTTP 40[17]/,
    "Check the user name and the password in outbound.proxy_url or HTTPS_PROXY.",
  ],
  [
    /proxy refused/,
    "The proxy must allow CONNECT to this host and port, and reach it: see the log of the proxy, or add the host to outbound.no_proxy.",
  ],
  [
    /the proxy/,
    "Check the proxy in outbound.proxy_url or HTTPS_PROXY, and that it can be reached from here.",
  ],
  [/^timeout/, "Check that the service can be reached, or increase poll.timeout."],
  [
    /^network .*(SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_UNTRUSTED)/,
    "This machine does not trust the service's certificate: name the file with its CA certificate in outbound.ca_file or the environment variable NODE_EXTRA_CA_CERTS, or check the region's base_url.",
  ],
  [/^network .*CERT_/, "The service's certificate has expired, or this machine's clock is wrong."],
  [
    /^network .*(connection reset|closed before)/,
    "Check the scheme, the host and the port in the region's base_url: a port that speaks TLS ends a connection without it.",
  ],
  [/^network .*TLS/, "Check the scheme, the host and the port in the region's base_url."],
  [/^network/, "Check the host and the port in the region's base_url, DNS and the network."],
  [/^auth/, "Check the key's api_key, and that it is valid in this region."],
  [/^rate_limited null/, "Try again, or set poll.rate_limit to the limit of the account."],
  [/^rate_limited/, "Check that poll.rate_limit is the limit of the account."],
  [/^server_error/, "The service failed: try again, and inform its operator if it continues."],
  [
    /^invalid_body/,
    "Check the region's base_url, and whether a proxy responds instead of the service.",
  ],
  [
    /^too_large/,
    "Increase poll.max_body if the account has that much. If the daemon makes the call, it reads at most 8 MiB of a look-up.",
  ],
  [/^http_error .*speaks TLS/, "Begin the region's base_url with https."],
  [
    /^http_error \d+ redirected/,
    "The key is sent to the configured address only: if the redirect is correct, set the region's base_url to its address.",
  ],
  [/^http_error \d+ operation_missing/, "Check the path in the region's base_url."],
  [/^http_error 404/, "Check the id and the region, and that the key has access to it."],
  [/^http_error/, "Check the id if one was given, and the region's base_url."],
];
