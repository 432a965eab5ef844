// Certificates for tests, made with openssl: authorities, servers, clients.
import { execFileSync } from 'node:child_process'
import { X509Certificate, createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'

/**
 * Makes a key and a certificate called `name` in `folder`: signed by itself, or by `authority`, which is another of them.
 *
 * `subject` is openssl's (`/O=x/CN=y`), `extensions` are its too (`subjectAltName=DNS:x`).
 */
export function certificate(folder, name, { subject = `/CN=${name}`, extensions = [], authority } = {}) {
  const [keyFile, certFile] = ['key', 'cert'].map((kind) => path.join(folder, `${name}-${kind}.pem`))
  const signer = authority ? ['-CA', authority.certFile, '-CAkey', authority.keyFile] : []
  const added = extensions.flatMap((extension) => ['-addext', extension])
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', subject]
  execFileSync('openssl', [...made, ...signer, ...added, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
  const [key, cert] = [keyFile, certFile].map((file) => fs.readFileSync(file, 'utf8'))
  const x509 = new X509Certificate(cert)
  return {
    keyFile,
    certFile,
    key,
    cert,
    /** How a token names it (RFC 8705 §3.1). */
    thumbprint: createHash('sha256').update(x509.raw).digest('base64url'),
    /** As a key of a client (RFC 8705 §2.2.2). */
    jwk: { ...x509.publicKey.export({ format: 'jwk' }), kid: name, use: 'sig', x5c: [x509.raw.toString('base64')] },
  }
}
