import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** Addresses of this machine, of private networks, and those that are nobody's (IANA's special-purpose registries). */
const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6');

export function isPrivateAddress(address: string): boolean {
  return PRIVATE.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Whether a document may be fetched from there without reaching into this network. Asked before a connection is made; the provider
 * looks at the address again once it is made, so that a name which changes in between gains nothing.
 */
export async function isPublicHost(url: string): Promise<boolean> {
  const host = URL.parse(url)?.hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === undefined) return false;
  if (isIP(host) !== 0) return !isPrivateAddress(host);
  try {
    const found = await lookup(host, { all: true });
    return found.every(({ address }) => !isPrivateAddress(address));
  } catch {
    // A name that is nowhere: fetching it fails by itself.
    return true;
  }
}
