import type { FailureReason } from "../fleet/model.ts";
import type { PollDetail } from "../alerts/watched-view.ts";

/** Why a poll failed, as the daemon logs it, and what to do. */
export function explainPoll(reason: FailureReason, detail: PollDetail): string {
  return `${detail.text}. ${adviceFor(reason, detail)}`;
}

function adviceFor(reason: FailureReason, detail: PollDetail): string {
  switch (reason) {
    case "timeout":
      return "Check that the service can be reached, or give it longer with poll.timeout.";
    case "network":
      return adviceForNetwork(detail.text);
    case "auth":
      return adviceForKey(detail.status);
    case "rate_limited":
      return detail.status === null
        ? "poll.rate_limit left no token for this poll: try again, or raise it to the limit of the account."
        : "The service limits the key: wait, and check that poll.rate_limit is the limit of the account.";
    case "server_error":
      return "The service failed: try again, and inform its operator if it continues.";
    case "http_error":
      return adviceForStatus(detail);
    case "invalid_body":
      return "The answer is no listing: check that the region's base_url is the service's, and what answers in between.";
    case "too_large":
      return "Raise poll.max_body if the account really has that many sandboxes.";
  }
}

const untrusted = /SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|CERT_UNTRUSTED/;

function adviceForNetwork(text: string): string {
  if (untrusted.test(text)) {
    return "This machine does not trust the service's certificate: name the file of its authority in the environment variable NODE_EXTRA_CA_CERTS, or check the region's base_url.";
  }
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(text)) {
    return "The service's certificate is out of its dates: its operator has to renew it, unless this machine's clock is wrong.";
  }
  if (text.includes("ALTNAME")) {
    return "The service's certificate is for another host name: check the host in the region's base_url.";
  }
  if (text.startsWith("TLS")) {
    return "What answers does not speak TLS as https needs it: check the scheme and the port in the region's base_url.";
  }
  if (text.startsWith("host name")) {
    return "Check the host in the region's base_url, and this machine's DNS.";
  }
  return "Check the host and the port in the region's base_url, and the network between.";
}

function adviceForKey(status: number | null): string {
  if (status === null) return "Check the key's api_key.";
  return status === 401
    ? "The service does not know the key: check its api_key, and that it belongs to this region."
    : "The service refuses the key: check its api_key, and that it is valid in this region.";
}

function adviceForStatus({ status, problem }: PollDetail): string {
  if (problem === "redirected") {
    return "The key is sent to no address but the configured one: if the redirect is right, put the address that it leads to into the region's base_url.";
  }
  if (problem === "operation_missing") {
    return "Check the path in the region's base_url: the listing is asked for below it, at /local-sandbox.";
  }
  return status === 400 || status === 422
    ? "The service finds fault with a request that has no parameters: check the region's base_url, and inform the service's operator."
    : "A listing comes with status 200: check that the region's base_url is the service's.";
}
