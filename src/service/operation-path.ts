export const listSandboxesPath = "/local-sandbox";
export const listUniversesPath = "/universes";

/** @throws {RangeError} like the two below it, for an id that `canStandInPath` refuses */
export function userPath(userId: string): string {
  return `/user/${pathSegment(userId)}`;
}

export function universeDataPath(universeId: string): string {
  return `/universes/${pathSegment(universeId)}/initial_data`;
}

export function whiteLabelPath(clientId: string): string {
  return `/white-labeling/get/${pathSegment(clientId)}`;
}

/**
 * Whether an id can be asked for at all. The empty one, `.` and `..` would reach another path, as
 * servers and proxies resolve them even when encoded (RFC 3986, section 5.2.4); a lone surrogate
 * has no encoding.
 */
export function canStandInPath(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && id.isWellFormed();
}

function pathSegment(id: string): string {
  if (!canStandInPath(id)) {
    throw new RangeError("An id must be well-formed text other than an empty one, . and ..");
  }
  return encodeURIComponent(id);
}
