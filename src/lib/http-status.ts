/**
 * The reason phrase of an HTTP status, such as `Not Found`.
 *
 * `getBuiltinModule` loads `node:http` alone. An import of it would also load the `fetch` of Node.js, which slows down
 * the start of a command.
 */
export function statusText(status: number): string {
  return process.getBuiltinModule("node:http").STATUS_CODES[status] ?? "Error";
}
