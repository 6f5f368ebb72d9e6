export const mask = "[secret]";

/**
 * A name that tells of a secret, with what is said to be it. Every part of it is bounded: text from
 * outside can be made of nothing but beginnings of it.
 */
const assignment =
  /((?:token|secret|passw|api[-_]?key|authorization|cookie)[\w-]{0,32}[\\"']{0,8}\s{0,8}[:=]\s{0,8})(?:(?:bearer|basic)\s{1,8})?(?:\\{0,4}"[^"]{0,4096}"|'[^']{0,4096}'|[^\s,;&]{1,4096})/gi;

const bearer = /(\bbearer\s{1,8})[\w.~+/=-]{8,}/gi;

/**
 * Text of the service without what in it may be secret: the query of an address, with a user and
 * password in it, and what stands behind a name such as `token=`.
 *
 * @param isAddress whether all of it is taken for an address
 */
export function maskText(text: string, isAddress = false): string {
  const withoutQueries = /[?#@]/.test(text)
    ? text.replaceAll(/\S+/g, (word) => maskWord(word, isAddress))
    : text;
  return /[:=]|bearer/i.test(withoutQueries)
    ? withoutQueries.replaceAll(assignment, `$1${mask}`).replaceAll(bearer, `$1${mask}`)
    : withoutQueries;
}

/** Whatever follows the query's beginning goes with it, its fragment and a bracket around it too. */
function maskWord(word: string, isAddress: boolean): string {
  const scheme = word.indexOf("://");
  const hostAt = scheme === -1 ? 0 : scheme + 3;
  const end = queryOf(word, hostAt, isAddress || scheme !== -1);
  const address = end === -1 ? word : word.slice(0, end + 1);
  const query = end === -1 || end + 1 === word.length ? "" : mask;
  return (scheme === -1 ? address : withoutUser(address, hostAt)) + query;
}

/** Where the query begins, or a fragment that is built like one; -1: nowhere. */
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
