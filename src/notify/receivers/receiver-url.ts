import type { Secret } from "../../platform/secret.ts";

/** @throws {Error} when it is no web address; it does not show it */
export function parseReceiverUrl({
  name,
  url,
}: {
  readonly name: string;
  readonly url: Secret;
}): URL {
  const parsed = URL.parse(url.reveal());
  if (parsed?.protocol === "https:" || parsed?.protocol === "http:") return parsed;
  throw new Error(`The url of receiver ${name} is no http or https address.`);
}
