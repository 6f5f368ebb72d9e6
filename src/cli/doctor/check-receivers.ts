import type { ReceiverConfig } from "../../config/schema-receivers.ts";
import type { OutboundNetworks } from "../../lib/networks.ts";
import { createGuardedConnector, DeniedAddressError } from "../../notify/guarded-connector.ts";
import { connectionFailure } from "../../service/failure.ts";
import { mapSome, type Finding } from "./finding.ts";

const connectionsAtOnce = 10;

/** Connects to the host of each receiver, with TLS if it is https, and sends nothing. */
export async function checkReceivers(
  receivers: readonly ReceiverConfig[],
  networks: OutboundNetworks,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const connector = createGuardedConnector(networks);
  const stop = (): void => connector.close();
  signal.addEventListener("abort", stop);
  const connectTo = (url: URL): Promise<unknown> =>
    new Promise((resolve) => {
      const { hostname, host, protocol, port } = url;
      connector.connect({ hostname, host, protocol, port }, (error, socket) => {
        socket?.destroy();
        resolve(error);
      });
    });
  try {
    const found = await mapSome(receivers, connectionsAtOnce, async (receiver) => {
      const begin = performance.now();
      const urls = addressesOf(receiver);
      const name = `${receiver.name} (${receiver.type})`;
      const errors = signal.aborted ? [] : await mapSome(urls, connectionsAtOnce, connectTo);
      const took = Math.round(performance.now() - begin);
      if (errors.length === 0) return [{ level: "note", text: `${name} is not checked` } as const];
      const failed = errors.flatMap((error, at) =>
        error ? [describe(name, at, urls, error)] : [],
      );
      return failed.length > 0
        ? failed
        : [{ level: "ok", text: `${name} can be reached: ${took} ms` } as const];
    });
    return found.flat();
  } finally {
    signal.removeEventListener("abort", stop);
    connector.close();
  }
}

function addressesOf(receiver: ReceiverConfig): readonly URL[] {
  if (receiver.type === "email") {
    const { host, port, tls } = receiver;
    const address = host.includes(":") ? `[${host}]` : host;
    // Only for the connection: it is encrypted from the start, or not yet.
    return [new URL(`${tls === "tls" ? "https" : "http"}://${address}:${port}`)];
  }
  const secrets = "urls" in receiver ? receiver.urls : [receiver.url];
  return secrets.map((secret) => new URL(secret.reveal()));
}

/** The address is a secret, so it is named by its place. */
function describe(name: string, at: number, urls: readonly URL[], error: unknown): Finding {
  const which = urls.length > 1 ? `${name}, urls[${at}]` : name;
  if (error instanceof DeniedAddressError) {
    const mend = "Correct its address, or allow it in alerts.outbound.";
    return { level: "failure", text: `${which}: its address is denied: ${error.why}`, mend };
  }
  const { detail } = connectionFailure(error, null);
  const mend = detail.startsWith("TLS")
    ? "Check its certificate and this machine's clock. A CA of your own is named in NODE_EXTRA_CA_CERTS."
    : "Check the host and port of its address, DNS and the network.";
  return { level: "failure", text: `${which}: ${detail}`, mend };
}
