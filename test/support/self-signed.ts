import { createServer } from "node:https";
import { listenOnLoopback } from "./listen.ts";

/** Of `localhost` and 127.0.0.1, signed by itself, and used by tests alone. */
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqymqrPqQWLJHWxHc
wvmSRyqUipiMhiA4DNAU7M41esihRANCAAQUntSO1MIYGKqM3VgjuKUdxABXFeok
fuVlWCGH37nv8neIesgkLb2pR+5Rui8hax/bk0beV7WbvJ5mYEiyu1Rp
-----END PRIVATE KEY-----
`;
export const cert = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUSN73p+6CN0cDcTnOCAuRou0aMgkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTE2Mzg1MVoYDzIxMjYxMTAx
MTYzODUxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQUntSO1MIYGKqM3VgjuKUdxABXFeokfuVlWCGH37nv8neIesgkLb2p
R+5Rui8hax/bk0beV7WbvJ5mYEiyu1Rpo28wbTAdBgNVHQ4EFgQU9es9hyHv4zP0
my9WFZ41m+e9SjkwHwYDVR0jBBgwFoAU9es9hyHv4zP0my9WFZ41m+e9SjkwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgQu7TBwFYwu4szdv5agdrP+UopsFQRvQkOtgnPlL34ssCIQDj
ngb2uhDpJWg6jwV95Ndd2F24e+sN9OspYZY1wy8MUw==
-----END CERTIFICATE-----
`;

/** A server with a certificate that nobody trusts. Gives its address. */
export async function startSelfSigned(): Promise<string> {
  const server = createServer({ key, cert }, (_request, response) => response.end("{}"));
  return `https://127.0.0.1:${await listenOnLoopback(server)}`;
}
