export const mask = "[secret]";

/** The name of a secret and its value. Every part is bounded: text may consist of such beginnings alone. */
const assignment =
  /((?:token|secret|passw|api[-_]?key|authorization|cookie)[\w-]{0,32}[\\"']{0,8}\s{0,8}[:=]\s{0,8})(?:(?:bearer|basic)\s{1,8})?(?:\\{0,4}"[^"]{0,4096}"|'[^']{0,4096}'|[^\s,;&]{1,4096})/gi;

const bearer = /(\bbearer\s{1,8})[\w.~+/=-]{8,}/gi;

/**
 * Masks what may be secret in a text of the service: user, password and query of a URL, and the value
 * after a name such as `token=`.
 *
 * @param isAddress whether the whole text is a URL
 */
export function maskText(text: string, isAddress = false): string {
  const withoutQueries = /[?#@]/.test(text)
    ? text.replaceAll(/\S+/g, (word) => maskWord(word, isAddress))
    : text;
  return /[:=]|bearer/i.test(withoutQueries)
    ? withoutQueries.replaceAll(assignment, `$1${mask}`).replaceAll(bearer, `$1${mask}`)
    : withoutQueries;
}

/** Everything after the beginning of the query is masked, with a fragment and a closing bracket. */
function maskWord(word: string, isAddress: boolean): string {
  const scheme = word.indexOf("://");
  const hostAt = scheme === -1 ? 0 : scheme + 3;
  const end = queryOf(word, hostAt, isAddress || scheme !== -1);
  const address = end === -1 ? word : word.slice(0, end + 1);
  const query = end === -1 || end + 1 === word.length ? "" : mask;
  return (scheme === -1 ? address : withoutUser(address, hostAt)) + query;
}

/** Where the query begins, or a fragment like a query; -1: nowhere. */
function queryOf(word: string, from: number, isAddress: boolean): number {
  const query = word.indexOf("?", from);
  if (query !== -1 && (isAddress || word.includes("=", query))) return query;
  const fragment = word.indexOf("#", from);
  return fragment !== -1 && word.includes("=", fragment) ? fragment : -1;
}

function withoutUser(address: string, hostAt: number): string {
  const slash = address.indexOf("/", hostAt);
  const end = slash === -1 ? address.length : slash;
  const at = address.lastIndexOf("@", end - 1);
  return at < hostAt ? address : address.slice(0, hostAt) + mask + address.slice(at);
}

/** Secret wherever they occur in the letters and digits of a name. */
const telling = [
  "token",
  "secret",
  "passw",
  "passphrase",
  "passcode",
  "credential",
  "cookie",
  "bearer",
  "jwt",
  "apikey",
  "accesskey",
  "privatekey",
  "signingkey",
  "encryptionkey",
  "sshkey",
  "authkey",
  "sessionkey",
  "sessionid",
  "authoriz",
  "authentication",
  "connectionstring",
  "webhook",
];

/** Too short for that: secret as a whole word of a name. */
const secretWords: ReadonlySet<string> = new Set([
  "auth",
  "oauth",
  "pass",
  "pwd",
  "otp",
  "totp",
  "pin",
  "cvv",
  "cvc",
  "dsn",
  "sid",
  // Free-form in the interface document.
  "metadata",
]);

/** Longer names are not given by people. */
const longestName = 200;

/** Whether a field of that name likely holds a secret: `api_key`, `X-Auth`, `refreshToken`. */
export function isSecretName(name: string): boolean {
  const plain = name.slice(0, longestName).normalize("NFKC");
  const words = plain
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, " ")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  if (words.some((word) => secretWords.has(word))) return true;
  const joined = words.join("");
  return telling.some((part) => joined.includes(part));
}

/** Whether a field of that name holds a URL. */
export function isAddressName(name: string): boolean {
  return /(?:ur[li]|href|link|endpoint)s?$/i.test(name.slice(-longestName));
}
