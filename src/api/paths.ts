/** Below it are the operations. */
export const operationsRoot = "/api/v1";
export const documentPath = "/api/openapi.json";
export const eventsPath = `${operationsRoot}/events`;
