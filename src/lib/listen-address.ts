export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Whether it is encrypted. Default: no. */
  readonly tls?: object | null;
}

/** The unspecified address of IPv6 stands for every interface, of IPv4 too. */
export const everyInterface = "::";

/** The address at which a program on this machine reaches the listener. */
export function localAddress({ host, port, tls }: ListenAddress): string {
  const scheme = tls ? "https" : "http";
  if (["", "0.0.0.0", everyInterface].includes(host)) return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The host as `listen` of Node.js takes it: it falls back to IPv4 where there is no IPv6 only when none is named. */
export function hostToListen(host: string): string {
  return host === everyInterface ? "" : host;
}
