import type { AddressInfo, Server } from 'node:net';
import { LOOPBACK_HOSTS, type Perimeter } from '#http/perimeter.js';
import type { Settings } from './settings.js';

/** Where the server is reached on this machine. */
export function localAddress({ HOST, PORT }: Settings, server: Server): string {
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `http://${inUrl(host)}:${(server.address() as AddressInfo | null)?.port ?? PORT}`;
}

/** Every address under which the server is one and the same: the public one, or this machine's names with its port. */
export function addressesOf(settings: Settings, server: Server): string[] {
  const base = settings.PUBLIC_URL ?? localAddress(settings, server);
  if (settings.PUBLIC_URL !== undefined) return [base];
  const { port } = new URL(base);
  return [...new Set([base, ...LOOPBACK_HOSTS.map((host) => `http://${host}:${port}`)])];
}

/** Under which names and for whose pages the server answers. */
export function perimeterOf(settings: Settings): Perimeter {
  const { HOST, PUBLIC_URL, ALLOWED_HOSTS = [], ALLOWED_ORIGINS = [] } = settings;
  const published = PUBLIC_URL === undefined ? undefined : new URL(PUBLIC_URL);
  return {
    hosts: [
      ...LOOPBACK_HOSTS,
      inUrl(HOST),
      ...(published ? [published.host] : []),
      ...ALLOWED_HOSTS,
    ],
    origins: [...(published ? [published.origin] : []), ...ALLOWED_ORIGINS],
  };
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
