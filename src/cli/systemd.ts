import { execFile } from "node:child_process";
import type { Logger } from "../lib/logger.ts";

/** Longer than a busy machine needs to start a program. */
const longestMs = 30_000;

/**
 * Notifies systemd that sandwatch serves, where it waits for that (`Type=notify`). By systemd's own program: its socket
 * is a Unix datagram socket, which Node.js cannot open.
 */
export function notifySystemd(log: Logger): void {
  if (process.env["NOTIFY_SOCKET"] === undefined) return;
  execFile("systemd-notify", ["--ready"], { timeout: longestMs }, (err) => {
    if (!err) return;
    const message = "systemd could not be notified that sandwatch has started, and will stop it";
    log.error({ event: "systemd.not_notified", err }, message);
  });
}
