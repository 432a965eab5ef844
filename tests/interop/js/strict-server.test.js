// npm openid-client and undici against a server of its own that speaks TLS, asks clients for certificates (RFC 8705) and
// requires nonces in DPoP proofs (RFC 9449 §8).
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { Agent as Dispatcher, fetch as fetchWith } from 'undici'
import { certificate } from '../../support/certificates.js'
import { FEATURES, assertAsExpected, discover, featuresOf } from '../../support/features.js'
import { removeFolder, serve, temporaryFolder } from '../../support/sluice.js'

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0' // the server's certificate signs itself
process.removeAllListeners('warning')

const folder = temporaryFolder('certificates')
const listener = certificate(folder, 'listener', { extensions: ['subjectAltName=IP:127.0.0.1'] })
const authority = certificate(folder, 'authority', { extensions: ['basicConstraints=critical,CA:TRUE'] })
const notAnAuthority = ['basicConstraints=critical,CA:FALSE', 'subjectAltName=DNS:client.example.com']
const issued = certificate(folder, 'issued', { subject: '/O=Interop/CN=issued', extensions: notAnAuthority, authority })
const forged = certificate(folder, 'forged', { subject: '/O=Interop/CN=issued', extensions: notAnAuthority })
const ownSigned = certificate(folder, 'own-signed')

const server = await serve({
  dsn: process.env.SLUICE_SECOND_DSN,
  issuer: (port) => `https://127.0.0.1:${port}/`,
  env: {
    SERVE_PUBLIC_TLS_ENABLED: 'true',
    SERVE_PUBLIC_TLS_CERT_PATH: listener.certFile,
    SERVE_PUBLIC_TLS_KEY_PATH: listener.keyFile,
    OAUTH2_MTLS_ENABLED: 'true',
    OAUTH2_MTLS_TRUST_ANCHORS: authority.certFile,
    OAUTH2_DPOP_NONCE_REQUIRED: 'true',
  },
})

// These read where the server is when they are loaded.
Object.assign(process.env, { SLUICE_ISSUER: server.issuer, SLUICE_ADMIN_URL: server.adminUrl })
const { introspect } = await import('../../support/agent.js')
const { assertUsable, relyingParty, signIn } = await import('../../support/relying-party.js')

const metadata = await discover(server.issuer)
const feature = featuresOf(metadata)
const dispatchers = []

after(async () => {
  await Promise.all(dispatchers.map((dispatcher) => dispatcher.close()))
  await server.stop()
  removeFolder(folder)
})

/** A fetch that shows this certificate, or none. */
function showing(shown) {
  const connect = { rejectUnauthorized: false, ...(shown ? { key: shown.key, cert: shown.cert } : {}) }
  const dispatcher = new Dispatcher({ connect })
  dispatchers.push(dispatcher)
  return (url, options) => fetchWith(url, { ...options, dispatcher })
}

async function party(shown, registration = {}, authentication) {
  const aliases = metadata.mtls_endpoint_aliases !== undefined
  const told = { use_mtls_endpoint_aliases: aliases && shown !== undefined }
  const configuration = await relyingParty(registration, authentication, { told })
  configuration[client.customFetch] = showing(shown)
  return configuration
}

/** Who the client is comes from its certificate alone. */
function authenticatedBy(shown, method, registration) {
  const grants = ['authorization_code', 'client_credentials']
  return party(shown, { token_endpoint_auth_method: method, grant_types: grants, ...registration }, client.TlsClientAuth())
}

async function refusesToAuthenticate(shown, method, registration) {
  const configuration = await authenticatedBy(shown, method, registration)
  const refused = await client.clientCredentialsGrant(configuration).catch((error) => error)
  assert.equal(refused.status, 401)
}

async function userinfoStatus(token, shown) {
  const address = metadata.mtls_endpoint_aliases?.userinfo_endpoint ?? metadata.userinfo_endpoint
  return (await showing(shown)(address, { headers: { authorization: `Bearer ${token}` } })).status
}

const BOUND = { tls_client_certificate_bound_access_tokens: true }

test('discovery over TLS says what is expected of a server that asks for certificates', () => {
  for (const [name, { server: needed }] of Object.entries(FEATURES)) {
    if (needed === 'mtls') assertAsExpected(name, metadata)
  }
})

test('a login over TLS, by a client that shows no certificate', async () => {
  const configuration = await party(undefined)
  await assertUsable(configuration, await signIn(configuration))
})

feature('certificate_bound_tokens', 'a token is bound to the certificate that the client showed', async () => {
  const configuration = await party(ownSigned, BOUND)
  const tokens = await signIn(configuration)
  await assertUsable(configuration, tokens)
  assert.equal((await introspect(tokens.access_token)).cnf['x5t#S256'], ownSigned.thumbprint)
  const [none, another, same] = [undefined, forged, ownSigned].map((shown) => userinfoStatus(tokens.access_token, shown))
  assert.deepEqual([await none, await another, await same], [401, 401, 200])
})

feature('certificate_bound_tokens', 'a client that registered so gets no token without a certificate', async () => {
  const configuration = await party(undefined, BOUND)
  await assert.rejects(client.clientCredentialsGrant(configuration), (error) => [400, 401].includes(error.status))
})

feature('certificate_bound_tokens', 'a JWT access token names the certificate', async () => {
  const configuration = await party(ownSigned, { ...BOUND, access_token_strategy: 'jwt' })
  const tokens = await client.clientCredentialsGrant(configuration)
  assert.equal(decodeJwt(tokens.access_token).cnf['x5t#S256'], ownSigned.thumbprint)
})

feature('certificate_bound_tokens', 'the refresh token of a public client works with its certificate alone', async () => {
  const registration = { ...BOUND, token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] }
  const configuration = await party(ownSigned, registration, client.None())
  const tokens = await signIn(configuration)
  configuration[client.customFetch] = showing(forged)
  await assert.rejects(client.refreshTokenGrant(configuration, tokens.refresh_token), (error) => error.status === 400)
  configuration[client.customFetch] = showing(ownSigned)
  await assertUsable(configuration, await client.refreshTokenGrant(configuration, tokens.refresh_token))
})

feature('self_signed_tls_client_auth', 'a client is known by the certificate that it registered', async () => {
  const registration = { jwks: { keys: [ownSigned.jwk] } }
  const configuration = await authenticatedBy(ownSigned, 'self_signed_tls_client_auth', registration)
  await assertUsable(configuration, await signIn(configuration, { parameters: { scope: 'openid' } }))
  await refusesToAuthenticate(forged, 'self_signed_tls_client_auth', registration)
  await refusesToAuthenticate(undefined, 'self_signed_tls_client_auth', registration)
})

const NAMES = {
  tls_client_auth_subject_dn: 'CN=issued,O=Interop',
  tls_client_auth_san_dns: 'client.example.com',
}

for (const [member, name] of Object.entries(NAMES)) {
  feature('tls_client_auth', `a client is known by ${member} of a certificate that an authority signed`, async () => {
    const registration = { [member]: name }
    const configuration = await authenticatedBy(issued, 'tls_client_auth', registration)
    await assertUsable(configuration, await signIn(configuration, { parameters: { scope: 'openid' } }))
    await refusesToAuthenticate(forged, 'tls_client_auth', registration)
    await refusesToAuthenticate(issued, 'tls_client_auth', { [member]: `${name}.elsewhere` })
  })
}

feature('dpop', 'a client that is given a nonce puts it into its next proof', async () => {
  const configuration = await party(undefined)
  const seen = []
  const fetched = configuration[client.customFetch]
  configuration[client.customFetch] = async (url, options) => {
    const answer = await fetched(url, options)
    seen.push(answer.status)
    return answer
  }
  const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair())
  const tokens = await signIn(configuration, { options: { DPoP } })
  assert.equal(tokens.token_type, 'dpop')
  assert.equal(seen[0], 400)
  await assertUsable(configuration, tokens, { DPoP })
})
