/** Looks something up over HTTP. @param lookup with its fields as a query, such as `user?id=user-1` */
export function postLookup(
  address: string,
  lookup: string,
  init: RequestInit = {},
): Promise<Response> {
  const { pathname, searchParams } = new URL(lookup, `${address}/api/v1/lookups/`);
  return fetch(address + pathname, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(searchParams)),
    ...init,
  });
}
