export const apiPrefix = "/api";
/** Below it. */
export const operationsPrefix = "/v1";
/** Below the API's prefix, too. */
export const documentPath = "/openapi.json";
/** Below the operations' prefix. */
export const eventsPath = "/events";

export const operationsRoot = apiPrefix + operationsPrefix;

/** Of an address, without its query. */
export function pathOf(url: string): string {
  return url.replace(/[?#].*$/, "");
}
