/** A throw-away certificate authority for one lab, and the certificates it signs. */
import type { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
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

async function keyPem({ privateKey }: webcrypto.CryptoKeyPair): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}

/**
 * Makes a CA and a server certificate that holds for all `names`: DNS names and IP addresses alike. Its own and
 * kubernetes.default.svc's usual names are for the caller to list.
 */
export async function makeServerCertificates(names: readonly string[]): Promise<ServerCertificates> {
  // Loaded here, since it takes 60 ms that only `lab up` has to pay; it needs the metadata polyfill before it.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const caKeys = await crypto.subtle.generateKey(keys, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=kuport lab CA',
    ...validity(),
    signingAlgorithm: signature,
    keys: caKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  const serverKeys = await crypto.subtle.generateKey(keys, true, ['sign', 'verify']);
  const server = await x509.X509CertificateGenerator.create({
    subject: 'CN=kube-apiserver',
    issuer: ca.subject,
    ...validity(),
    signingAlgorithm: signature,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
      ),
    ],
  });
  return {
    caPem: `${ca.toString('pem')}\n`,
    serverCertPem: `${server.toString('pem')}\n`,
    serverKeyPem: await keyPem(serverKeys),
  };
}

/** A key pair for signing the tokens of service accounts. */
export async function makeSigningKey(): Promise<{ privatePem: string; publicPem: string }> {
  const pair = await crypto.subtle.generateKey(keys, true, ['sign', 'verify']);
  const der = Buffer.from(await crypto.subtle.exportKey('spki', pair.publicKey));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    privatePem: await keyPem(pair),
    publicPem: ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n'),
  };
}
