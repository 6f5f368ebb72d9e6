import type { DeadLetters, Notifications } from "../store/dead-letters.ts";

/** What the desk needs of the outbox. */
export interface NotificationLetters extends Pick<Notifications, "list" | "find" | "attempts"> {
  /** Has dead ones delivered after all; gives how many. */
  replay(which: DeadLetters): Promise<number>;
  /** Lets dead ones be; gives how many. */
  discard(which: DeadLetters): Promise<number>;
}
