/** A throw-away certificate authority for one lab, and the certificates it signs. */
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

export interface ServerCertificates {
  caPem: string;
  serverCertPem: string;
  serverKeyPem: string;
}

// P-256: a key pair takes under a millisecond, an RSA one a hundred.
const keys = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const signature = { name: 'ECDSA', hash: 'SHA-256' } as const;

const hour = 60 * 60 * 1000;
/** A lab that stays up is taken down within the month; hosts' clocks may be an hour behind. */
const validity = (): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - hour),
  notAfter: new Date(Date.now() + 30 * 24 * hour),
});

async function keyPem(keyPair: webcrypto.CryptoKeyPair): Promise<string> {
  return PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keyPair.privateKey), 'PRIVATE KEY');
}

/**
 * Makes a CA and a server certificate that holds for all `names`: DNS names and IP addresses alike. Its own and
 * kubernetes.default.svc's usual names are for the caller to list.
 */
export async function makeServerCertificates(names: readonly string[]): Promise<ServerCertificates> {
  const caKeys = await crypto.subtle.generateKey(keys, true, ['sign', 'verify']);
  const ca: X509Certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=kuport lab CA',
    ...validity(),
    signingAlgorithm: signature,
    keys: caKeys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const serverKeys = await crypto.subtle.generateKey(keys, true, ['sign', 'verify']);
  const server = await X509CertificateGenerator.create({
    subject: 'CN=kube-apiserver',
    issuer: ca.subject,
    ...validity(),
    signingAlgorithm: signature,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
      ),
    ],
  });
  return {
    caPem: `${ca.toString('pem')}\n`,
    serverCertPem: `${server.toString('pem')}\n`,
    serverKeyPem: `${await keyPem(serverKeys)}\n`,
  };
}
