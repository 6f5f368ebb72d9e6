import type { Config } from "../../config/config.ts";
import type { ReceiverConfig } from "../../config/schema-receivers.ts";
import type { ConnectOptions } from "../../lib/connector.ts";
import { destinationOf, ProxyError } from "../../lib/proxy.ts";
import { createGuardedConnector, DeniedAddressError } from "../../notify/guarded-connector.ts";
import { connectionFailure } from "../../service/failure.ts";
import { adviceFor } from "../failure-advice.ts";
import { mapSome, type Finding } from "./finding.ts";

const connectionsAtOnce = 10;

/** Connects to the host of each receiver, with TLS if it is https, and sends nothing. */
export async function checkReceivers(
  receivers: readonly ReceiverConfig[],
  { networks, route }: Config["alerts"]["outbound"],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const connector = createGuardedConnector(networks, undefined, route);
  const stop = (): void => connector.close();
  signal.addEventListener("abort", stop);
  const connectTo = (address: ConnectOptions): Promise<unknown> =>
    new Promise((resolve) => {
      void connector.connect(address, (error, socket) => {
        socket?.destroy();
        resolve(error);
      });
    });
  try {
    const found = await mapSome(receivers, connectionsAtOnce, async (receiver) => {
      const begin = performance.now();
      const addresses = addressesOf(receiver);
      const name = `${receiver.name} (${receiver.type})`;
      const errors = signal.aborted ? [] : await mapSome(addresses, connectionsAtOnce, connectTo);
      const took = Math.round(performance.now() - begin);
      if (errors.length === 0) return [{ level: "note", text: `${name} is not checked` } as const];
      const failed = errors.flatMap((error, at) =>
        error ? [describe(name, at, addresses, error)] : [],
      );
      const via = addresses.some(connector.isProxied) ? " through the proxy" : "";
      return failed.length > 0
        ? failed
        : [{ level: "ok", text: `${name} can be reached${via}: ${took} ms` } as const];
    });
    return found.flat();
  } finally {
    signal.removeEventListener("abort", stop);
    connector.close();
  }
}

function addressesOf(receiver: ReceiverConfig): readonly ConnectOptions[] {
  if (receiver.type === "email") {
    const { host: hostname, port, tls, viaProxy } = receiver;
    // Only for the connection: it is encrypted from the start, or not yet.
    const protocol = tls === "tls" ? "https:" : "http:";
    return [{ protocol, hostname, host: hostname, port: String(port), viaProxy }];
  }
  const secrets = "urls" in receiver ? receiver.urls : [receiver.url];
  return secrets.map((secret) => {
    const url = new URL(secret.reveal());
    return { ...destinationOf(url), host: url.host };
  });
}

/** The address is a secret, so it is named by its place. */
function describe(
  name: string,
  at: number,
  addresses: readonly unknown[],
  error: unknown,
): Finding {
  const which = addresses.length > 1 ? `${name}, urls[${at}]` : name;
  if (error instanceof DeniedAddressError) {
    const mend = "Correct its address, or allow it in alerts.outbound.";
    return { level: "failure", text: `${which}: its address is denied: ${error.why}`, mend };
  }
  const failure = { ...connectionFailure(error, null), problem: null };
  const { detail } = failure;
  if (error instanceof ProxyError) {
    return { level: "failure", text: `${which}: ${detail}`, mend: adviceFor(failure) };
  }
  const mend = detail.startsWith("TLS")
    ? "Check its certificate and this machine's clock. A CA of your own is named in outbound.ca_file."
    : "Check the host and port of its address, DNS and the network.";
  return { level: "failure", text: `${which}: ${detail}`, mend };
}
