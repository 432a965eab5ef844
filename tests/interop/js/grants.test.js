// npm openid-client with grants that carry a token of somebody: token exchange (RFC 8693), JWT bearer (RFC 7523).
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import * as client from 'openid-client'
import { ISSUER, admin, introspect } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, clientKey, relyingParty, signIn } from '../../support/relying-party.js'

const feature = featuresOf(await discover(ISSUER))
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const AUDIENCE = 'https://api.example.com/'

function exchangingParty() {
  return relyingParty({ grant_types: ['authorization_code', EXCHANGE], audience: [AUDIENCE] })
}

feature('token_exchange', 'an access token is exchanged for one of less scope for an audience that the user allowed', async () => {
  const configuration = await exchangingParty()
  const { access_token: token } = await signIn(configuration, { parameters: { scope: 'openid profile', audience: AUDIENCE } })
  const exchanged = await client.genericGrantRequest(configuration, EXCHANGE, {
    subject_token: token,
    subject_token_type: ACCESS_TOKEN,
    audience: AUDIENCE,
    scope: 'profile',
  })
  assert.equal(exchanged.issued_token_type, ACCESS_TOKEN)
  assert.notEqual(exchanged.access_token, token)
  const facts = await introspect(exchanged.access_token)
  assert.deepEqual([facts.active, facts.sub, facts.scope], [true, 'alice', 'profile'])
  assert.ok(facts.aud.includes(AUDIENCE))
})

feature('token_exchange', 'more scope than the token has is refused', async () => {
  const configuration = await exchangingParty()
  const { access_token: token } = await signIn(configuration, { parameters: { scope: 'openid' } })
  const wanted = { subject_token: token, subject_token_type: ACCESS_TOKEN, scope: 'openid profile' }
  await assert.rejects(client.genericGrantRequest(configuration, EXCHANGE, wanted), { error: 'invalid_scope' })
})

feature('token_exchange', 'a token that was revoked is not exchanged', async () => {
  const configuration = await exchangingParty()
  const { access_token: token } = await signIn(configuration, { parameters: { scope: 'openid' } })
  await client.tokenRevocation(configuration, token)
  const wanted = { subject_token: token, subject_token_type: ACCESS_TOKEN }
  await assert.rejects(client.genericGrantRequest(configuration, EXCHANGE, wanted), (error) => /^invalid_(grant|request)$/.test(error.error))
})

async function assertion(key, issuer, claims = {}) {
  return new SignJWT({ jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(issuer)
    .setSubject('alice')
    .setAudience(new URL('oauth2/token', ISSUER).href)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(key.signing.key)
}

async function trust(key, issuer) {
  return admin('POST', '/admin/trust/grants/jwt-bearer/issuers', {
    issuer,
    subject: 'alice',
    scope: ['profile'],
    jwk: key.jwks.keys[0],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
}

feature('jwt_bearer', 'an assertion of a trusted issuer is a grant, until the trust is taken back', async () => {
  const [key, issuer] = [await clientKey(), `https://${randomUUID()}.example.com`]
  const { id } = await trust(key, issuer)
  const configuration = await relyingParty({ grant_types: [JWT_BEARER] })
  const tokens = await client.genericGrantRequest(configuration, JWT_BEARER, { assertion: await assertion(key, issuer), scope: 'profile' })
  const facts = await introspect(tokens.access_token)
  assert.deepEqual([facts.active, facts.sub, facts.scope], [true, 'alice', 'profile'])

  await admin('DELETE', `/admin/trust/grants/jwt-bearer/issuers/${id}`)
  const again = { assertion: await assertion(key, issuer), scope: 'profile' }
  await assert.rejects(client.genericGrantRequest(configuration, JWT_BEARER, again), { error: 'invalid_grant' })
})

feature('jwt_bearer', 'an assertion works once', async () => {
  const [key, issuer] = [await clientKey(), `https://${randomUUID()}.example.com`]
  await trust(key, issuer)
  const configuration = await relyingParty({ grant_types: [JWT_BEARER] })
  const grant = { assertion: await assertion(key, issuer), scope: 'profile' }
  await client.genericGrantRequest(configuration, JWT_BEARER, grant)
  const refused = await client.genericGrantRequest(configuration, JWT_BEARER, grant).catch((error) => error)
  assert.match(refused.error, /^(invalid_grant|jti_known)$/) // the second is Hydra's
})

feature('client_secret_jwt', 'a client proves itself with an assertion that its secret signs', async () => {
  const metadata = { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'HS256' }
  const configuration = await relyingParty(metadata, client.ClientSecretJwt())
  await assertUsable(configuration, await signIn(configuration))
})
