import { describe, expect, it } from '@jest/globals';
import { isPrivateAddress, isPublicHost } from './public-host.js';

describe('where documents of clients may be fetched from', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    'fe80::1',
    'fd00::1',
    'ff02::1',
    '64:ff9b::a00:1',
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each(['1.1.1.1', '172.32.0.1', '192.0.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
    '%s is public',
    (address) => {
      expect(isPrivateAddress(address)).toBe(false);
    },
  );

  it.each([
    'https://127.0.0.1/doc',
    'https://[::1]/doc',
    'https://2130706433/doc',
    'https://0x7f.1/doc',
    'https://localhost/doc',
    'https://169.254.169.254/latest/meta-data',
  ])('%s is refused however it is written', async (url) => {
    expect(await isPublicHost(url)).toBe(false);
  });
});
