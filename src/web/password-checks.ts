import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { AccessSettings } from "../lib/access.ts";
import { hostNetwork } from "../lib/networks.ts";
import { isPassword } from "../lib/password.ts";
import { noName, type Failures, type Guess } from "./failed-guesses.ts";

type User = AccessSettings["users"][number];
type Checked = User | "wrong" | "limited";

interface Check {
  readonly user: string;
  readonly password: string;
  /** The address of who sent it. */
  readonly sender: string;
  /** Whether nobody waits for the result any more. */
  readonly hasLeft: (() => boolean) | undefined;
}

/** Its sender is the network of that address. */
interface WaitingCheck extends Check, Guess {
  readonly found: User | undefined;
  readonly settle: (checked: Checked | Promise<Checked>) => void;
}

/** Each may hold a password of 16 KiB. */
const mostWaiting = 200;

/**
 * Checks one password at a time: scrypt takes 64 MiB and 0.2 s. The next one is of the name with the fewest checks that
 * wait or failed within the last minute, then of the address with the fewest, and of these the newest. So guesses at one
 * name, or from one address, delay others by one check, and a right password passes whatever others guess.
 */
export function createPasswordChecks(users: AccessSettings["users"], failures: Failures) {
  const remembered = createRemembered(users.length);
  const waiting: WaitingCheck[] = [];
  let isBusy = false;

  /** The next one to be checked comes last. */
  const sortWaiting = (): void => {
    const ranked = waiting.map((check) => {
      const ofName = waiting.filter(({ name }) => name === check.name).length;
      const ofSender = waiting.filter(({ sender }) => sender === check.sender).length;
      return {
        check,
        byName: failures.ofName(check.name) + ofName,
        bySender: failures.ofSender(check.sender) + ofSender,
      };
    });
    ranked.sort((a, b) => b.byName - a.byName || b.bySender - a.bySender);
    waiting.splice(0, waiting.length, ...ranked.map(({ check }) => check));
  };

  const verify = async (check: WaitingCheck): Promise<Checked> => {
    const { name, found, user, password, sender } = check;
    // Another user's where there is none, so that the time of a response does not show which users exist.
    const expected = (found ?? users[0])?.passwordHash;
    const isRight = expected !== undefined && (await isPassword(password, expected));
    if (!found || !isRight) {
      const isLimited = failures.waitMs(check) > 0;
      failures.add({ name, sender });
      return isLimited ? "limited" : "wrong";
    }
    remembered.add(user, password);
    return found;
  };

  const checkNext = (): void => {
    if (isBusy) return;
    sortWaiting();
    const check = waiting.pop();
    if (!check) return;
    const { found, user, password } = check;
    isBusy = true;
    const checked =
      found && remembered.has(user, password)
        ? Promise.resolve(found)
        : check.hasLeft?.()
          ? Promise.resolve<Checked>("limited")
          : verify(check);
    check.settle(checked);
    const goOn = (): void => {
      isBusy = false;
      checkNext();
    };
    checked.then(goOn, goOn);
  };

  return {
    check({ user, password, sender: address, hasLeft }: Check): Promise<Checked> {
      const sender = hostNetwork(address);
      const found = users.find(({ name }) => name === user);
      // A user who has logged in does not wait for the attempts of others.
      if (found && remembered.has(user, password)) return Promise.resolve(found);
      return new Promise((settle) => {
        const name = found?.name ?? noName;
        waiting.push({ user, password, sender, hasLeft, name, found, settle });
        if (waiting.length > mostWaiting) {
          sortWaiting();
          waiting.shift()?.settle("limited");
        }
        checkNext();
      });
    },
  };
}

/**
 * Passwords that were right, as digests under a key of this process: a browser sends its password with every
 * request, and scrypt takes 0.2 s.
 */
function createRemembered(mostUsers: number) {
  const key = randomBytes(32);
  const digests = new Map<string, Buffer>();
  const digestOf = (user: string, password: string): Buffer =>
    createHmac("sha256", key).update(`${user}\0${password}`).digest();
  return {
    has(user: string, password: string): boolean {
      const known = digests.get(user);
      return known !== undefined && timingSafeEqual(known, digestOf(user, password));
    },
    add(user: string, password: string): void {
      if (digests.size < mostUsers || digests.has(user))
        digests.set(user, digestOf(user, password));
    },
  };
}
