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

/** What to do about it. */
export function adviceFor({ reason, status, detail, problem }: Failed): string {
  switch (reason) {
    case "timeout":
      return "Check that the service can be reached, or increase poll.timeout.";
    case "network":
      return networkAdvice.find(([pattern]) => pattern.test(detail))?.[1] ?? checkAddress;
    case "auth":
      return "Check the key's api_key, and that it is valid in this region.";
    case "rate_limited":
      return status === null
        ? "poll.rate_limit left no token: try again, or set it to the limit of the account."
        : "The service limits the key: check that poll.rate_limit is the limit of the account.";
    case "server_error":
      return "The service failed: try again, and inform its operator if it continues.";
    case "invalid_body":
      return "Check the region's base_url, and whether a proxy responds instead of the service.";
    case "too_large":
      return "Increase poll.max_body if the account has that much. If the daemon makes the call, it reads at most 8 MiB of a look-up.";
    case "http_error":
      if (problem === "redirected") {
        return "The key is sent to the configured address only: if the redirect is correct, set the region's base_url to its address.";
      }
      if (problem === "operation_missing") return "Check the path in the region's base_url.";
      return status === 404
        ? "Check the id and the region, and that the key has access to it."
        : "Check the id if one was given, and the region's base_url.";
  }
}

const checkAddress = "Check the host and the port in the region's base_url, and the network.";

const networkAdvice: readonly (readonly [RegExp, string])[] = [
  [
    /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_UNTRUSTED/,
    "This machine does not trust the service's certificate: name the file with its CA certificate in the environment variable NODE_EXTRA_CA_CERTS, or check the region's base_url.",
  ],
  [
    /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/,
    "The service's certificate has expired or is not yet valid: its operator must renew it, unless this machine's clock is wrong.",
  ],
  [/ALTNAME/, "The certificate is for another host: check the host in the region's base_url."],
  [
    /^TLS/,
    "The server does not accept a TLS connection: check the scheme and the port in the base_url.",
  ],
  [/^host name/, "Check the host in the region's base_url, and this machine's DNS."],
];
