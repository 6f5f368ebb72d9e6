import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { listenOnLoopback } from "./listen.ts";

/** The certificate of an authority that nobody trusts by default. Its key is gone; used by tests alone. */
export const ca = `-----BEGIN CERTIFICATE-----
MIIBizCCATGgAwIBAgIUfVO+yhhepTZVDUxtFIRSrHCGNX8wCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPUHJpdmF0ZSB0ZXN0IENBMCAXDTI2MTEyNjA4MjMxNVoYDzIx
MjYxMTAyMDgyMzE1WjAaMRgwFgYDVQQDDA9Qcml2YXRlIHRlc3QgQ0EwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAAQDkdkeByWpiZnSR9fVsTGVyne+qtjMjWzIXc6j
S2+M9OTWynVAL3XviK9U6K12ZzxQEgrlfNF7Xsd9L+68kyjCo1MwUTAdBgNVHQ4E
FgQUjpS2dAKZU9MoWhpYHZ+ntRL7Z+swHwYDVR0jBBgwFoAUjpS2dAKZU9MoWhpY
HZ+ntRL7Z+swDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiBg1BTK
/kMWLW8nUaGGLv7nW4rzYWbT7798uvZojmsfJAIhAKlgLlHgzUwQWTGYQL+0Oavx
O6Z9rUgc3JIHF2S+OaiV
-----END CERTIFICATE-----
`;
/** A certificate of that authority for `*.example.com`, `localhost` and 127.0.0.1, and its key. */
export const cert = `-----BEGIN CERTIFICATE-----
MIIBsjCCAVigAwIBAgIUIFjL2NtMOVXr3ur2V6E75ggsJfQwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPUHJpdmF0ZSB0ZXN0IENBMCAXDTI2MTEyNjA4MjMxNVoYDzIx
MjYxMTAyMDgyMzE1WjAcMRowGAYDVQQDDBFob29rcy5leGFtcGxlLmNvbTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABHYYil0SDaMq6tyxR3z3HJ0+pFhwtLOLQvsW
KRqwceGwu3q1s08S4j5Ys4efFPU1LGopgS8icV3RF5JAO7tuLNmjeDB2MCkGA1Ud
EQQiMCCCDSouZXhhbXBsZS5jb22CCWxvY2FsaG9zdIcEfwAAATAJBgNVHRMEAjAA
MB0GA1UdDgQWBBREjhgjpTPPZiiShVe5gWAZG2/JbDAfBgNVHSMEGDAWgBSOlLZ0
AplT0yhaGlgdn6e1Evtn6zAKBggqhkjOPQQDAgNIADBFAiEA5Cj3mY3EDyQoUw4g
lZb/0bUyz2SFVnAXAjePkdFz/jECIAbT2hACSawQDk/h2hQ1LxrlQ/FCMkxnpMuG
975+rabI
-----END CERTIFICATE-----
`;
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUfo8cYeOcYXwtZDS
6oTBWvlMIKIKgffgBvJNYplZ2XChRANCAAR2GIpdEg2jKurcsUd89xydPqRYcLSz
i0L7FikasHHhsLt6tbNPEuI+WLOHnxT1NSxqKYEvInFd0ReSQDu7bizZ
-----END PRIVATE KEY-----
`;

/** A server with that certificate, gone when the test ends. */
export async function startPrivateServer(
  listener: RequestListener = (_, response) => void response.end("{}"),
) {
  const paths: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    paths.push(request.url ?? "");
    listener(request, response);
  });
  return { port: await listenOnLoopback(server), paths: paths as readonly string[] };
}
