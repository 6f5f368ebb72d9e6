/** A message about the firing incidents of a group, which later messages change and continue. */
export interface MessageThread {
  /** Identifies the group among those of its rule. */
  readonly group: string;
  /** What the receiver needs to find the message again, as text. */
  readonly message: string;
}

/** The messages of receivers that change what they sent. Each call is one transaction. */
export interface MessageThreads {
  ofRule(receiver: string, rule: string): Promise<readonly MessageThread[]>;
  ofReceiver(receiver: string): Promise<readonly (MessageThread & { readonly rule: string })[]>;
  /** Replaces the one of the same group. */
  save(receiver: string, rule: string, thread: MessageThread, nowMs: number): Promise<void>;
  remove(receiver: string, rule: string, group: string): Promise<void>;
}
