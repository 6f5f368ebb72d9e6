const prime1: u64 = 0x9e3779b185ebca87;
const prime2: u64 = 0xc2b2ae3d27d4eb4f;
const prime3: u64 = 0x165667b19e3779f9;
const prime4: u64 = 0x85ebca77c2b2ae63;
const prime5: u64 = 0x27d4eb2f165667c5;

/** 64 bits over `length` bytes (XXH64, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). */
export function xxh64(start: usize, length: usize, seed: u64): u64 {
  const end = start + length;
  let at = start;
  let hash = seed + prime5;
  if (length >= 32) {
    let lane1 = seed + prime1 + prime2;
    let lane2 = seed + prime2;
    let lane3 = seed;
    let lane4 = seed - prime1;
    for (const last = end - 32; at <= last; at += 32) {
      lane1 = round(lane1, load<u64>(at));
      lane2 = round(lane2, load<u64>(at, 8));
      lane3 = round(lane3, load<u64>(at, 16));
      lane4 = round(lane4, load<u64>(at, 24));
    }
    hash = rotl(lane1, 1) + rotl(lane2, 7) + rotl(lane3, 12) + rotl(lane4, 18);
    hash = merge(merge(merge(merge(hash, lane1), lane2), lane3), lane4);
  }
  hash += length;
  for (; at + 8 <= end; at += 8) {
    hash = rotl(hash ^ round(0, load<u64>(at)), 27) * prime1 + prime4;
  }
  if (at + 4 <= end) {
    hash = rotl(hash ^ ((load<u32>(at) as u64) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at < end; at++) {
    hash = rotl(hash ^ ((load<u8>(at) as u64) * prime5), 11) * prime1;
  }
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

function round(lane: u64, input: u64): u64 {
  return rotl(lane + input * prime2, 31) * prime1;
}

function merge(hash: u64, lane: u64): u64 {
  return (hash ^ round(0, lane)) * prime1 + prime4;
}
