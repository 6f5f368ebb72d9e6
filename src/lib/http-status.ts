/**
 * The words of a status of HTTP, such as `Not Found`.
 *
 * Importing `node:http` also loads the `fetch` of Node.js, which takes longer than all else that a
 * command loads of Node.js; what is asked for like this is loaded alone.
 */
export function statusText(status: number): string {
  return process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "Error";
}
