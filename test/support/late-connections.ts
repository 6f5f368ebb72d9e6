import { buildConnector, type Dispatcher, Pool } from "undici";

/** Connections that are made at once, but may be used only from when the test opens them. */
export interface LateConnections {
  /** To `origin`; `onDispatch` is called as each request asks for a connection. */
  createDispatcher(origin: string, onDispatch: () => void): Dispatcher;
  /** Resolves once N are being made. */
  begun(count: number): Promise<void>;
  /** Those under way are open now, and those to come at once. */
  open(): void;
}

export function createLateConnections(): LateConnections {
  const build = buildConnector({});
  let held: (() => void)[] | null = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let begun = 0;
  const connect: buildConnector.connector = (options, callback) => {
    begun += 1;
    for (const { count, resolve } of waiting) if (begun >= count) resolve();
    build(options, (...result) => {
      const use = (): void => callback(...result);
      if (held) held.push(use);
      else use();
    });
  };
  return {
    createDispatcher: (origin, onDispatch) =>
      new Pool(origin, { connect }).compose((dispatch) => (options, handler) => {
        onDispatch();
        return dispatch(options, handler);
      }),
    begun: (count) =>
      new Promise((resolve) => {
        if (begun >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    open() {
      const uses = held ?? [];
      held = null;
      for (const use of uses) use();
    },
  };
}
