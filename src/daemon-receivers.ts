import type { Config } from "./config/config.ts";
import { createReceiver } from "./notify/receivers/create-receiver.ts";

/** The configured receivers, each with its settings; what is opened closes them. */
export function openReceivers(
  { receivers, outbound }: Config["alerts"],
  opened: AsyncDisposableStack,
  deps: Omit<Parameters<typeof createReceiver>[1], "networks">,
) {
  return receivers.map((config) => {
    const receiver = createReceiver(config, { ...deps, networks: outbound });
    opened.defer(() => receiver.close());
    return { ...config, receiver };
  });
}
