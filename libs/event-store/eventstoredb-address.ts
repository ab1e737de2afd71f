import { readFileSync } from 'node:fs';
import { connect, type ConnectionOptions } from 'node:tls';
import { EventStoreDBClient, type Credentials } from '@eventstore/db-client';
import { invalid, Refusal } from '#kernel/refusal.js';

/** Where addresses come from: refusals name it. */
const SETTING = 'PRECEDENT_EVENTSTORE';
const FORM = 'write esdb://user:password@host:2113 with the options of the EventStoreDB client';
/** Flat, as the client compares them. Any other one it only warns of, printing the address with the password. */
const OPTIONS = new Set(
  [
    ...['tls', 'tlsCAFile', 'userCertFile', 'userKeyFile', 'nodePreference', 'connectionName'],
    ...['maxDiscoverAttempts', 'discoveryInterval', 'gossipTimeout', 'defaultDeadline'],
    ...['keepAliveInterval', 'keepAliveTimeout', 'throwOnAppendFailure'],
  ].map(flat),
);
const PROBE_MS = 3_000;

/** A cluster, as its address names it. */
export interface Address {
  /** For the client. Holds the password. */
  text: string;
  /** For every call: with credentials the client uses the classic append, whose deadline works. */
  credentials: Credentials | undefined;
  keepAliveMs: number;
  /** Whom a connection must prove itself as, and by which authority; undefined without TLS. */
  tls: { hosts: { host: string; port: number }[]; ca: Buffer | undefined } | undefined;
}

/** Refuses, naming the setting, an address that the client would not take or would take with a warning. */
export function readAddress(address: string): Address {
  const text = address.replace(/^kurrentdb/, 'esdb');
  const [, user, hosts = '', query = ''] =
    /^esdb(?:\+discover)?:\/\/(?:([^@/]+)@)?([^/?@]+)\/?(?:\?(.*))?$/.exec(text) ?? [];
  if (hosts === '') throw invalid(SETTING, 'is no address of a cluster', FORM);
  const options = optionsOf(query);
  const secure = options.get('tls') !== 'false';
  const given = user === undefined ? undefined : credentialsOf(user);
  const tls = secure
    ? { hosts: hostsOf(hosts), ca: authority(options.get('tlscafile')) }
    : undefined;
  acceptedByClient(text);
  return {
    text,
    // Never sent without TLS, which the client ignores them without.
    credentials: given ?? (secure ? undefined : { username: 'none', password: 'none' }),
    keepAliveMs: Number(options.get('keepalivetimeout') ?? 10_000),
    tls,
  };
}

function flat(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '');
}

function optionsOf(query: string): Map<string, string> {
  const options = new Map<string, string>();
  for (const pair of query.split('&').filter((part) => part !== '')) {
    const [name = '', value = ''] = pair.split('=');
    if (flat(name) === 'tlsverifycert')
      throw invalid(SETTING, `${name} is not supported`, 'name the authority with tlsCAFile');
    if (!OPTIONS.has(flat(name)))
      throw invalid(SETTING, `${name} is no option`, `options are ${[...OPTIONS].join(', ')}`);
    options.set(flat(name), decoded(value));
  }
  return options;
}

function credentialsOf(user: string): Credentials {
  const at = user.indexOf(':');
  if (at < 1 || at === user.length - 1)
    throw invalid(SETTING, 'has a user without a password', FORM);
  return { username: decoded(user.slice(0, at)), password: decoded(user.slice(at + 1)) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(SETTING, 'has a % that begins no escape', 'write % as %25');
  }
}

function hostsOf(hosts: string): { host: string; port: number }[] {
  return hosts.split(',').map((part) => {
    const [host = '', port = '2113'] = part.split(':');
    return { host, port: Number(port) };
  });
}

function authority(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw invalid(SETTING, `tlsCAFile ${file} cannot be read (${code ?? String(error)})`, FORM);
  }
}

/** The client's own words repeat parts of the address, perhaps of the password. */
function acceptedByClient(text: string): void {
  try {
    EventStoreDBClient.connectionString(text);
  } catch {
    throw invalid(SETTING, 'is not understood by the EventStoreDB client', FORM);
  }
}

/** The cluster knows neither this user nor this password, or lets this user do nothing here. */
export function accessDenied(): Refusal {
  return new Refusal(
    'unavailable',
    'storage_access_denied',
    `the event store does not accept the user and password of ${SETTING}; nothing was stored`,
    { path: SETTING, fix: `correct them, or give the user access, and start again` },
  );
}

function untrusted(reason: string): Refusal {
  const refusal = new Refusal(
    'unavailable',
    'storage_untrusted',
    `the certificate of the event store is not trusted: ${reason}`,
    {
      path: SETTING,
      fix: 'name its authority with tlsCAFile; the host must be one it is made for',
    },
  );
  refusal.cause = reason;
  return refusal;
}

/**
 * A refusal if a node of the cluster shows a certificate that is not trusted, or does not speak TLS. The client tells that
 * for a single node at best, and of a discovery nothing but that it failed.
 */
export async function certificateProblem({ tls }: Address): Promise<Refusal | undefined> {
  if (!tls) return undefined;
  for (const { host, port } of tls.hosts) {
    const problem = await handshake({ host, port, ...(tls.ca && { ca: tls.ca }) });
    if (problem !== undefined) return untrusted(problem);
  }
  return undefined;
}

/** What is wrong with the certificate; undefined if nothing is, or if nobody answers. */
function handshake(options: ConnectionOptions): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...options, ALPNProtocols: ['h2'], timeout: PROBE_MS });
    const end = (problem?: string): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.on('secureConnect', () => end());
    socket.on('timeout', () => end());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const network = error.syscall !== undefined || error.code === 'ECONNRESET';
      end(network ? undefined : error.message);
    });
  });
}
