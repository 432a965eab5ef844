// A resource server that knows nothing but the issuer: it checks JWT access tokens (RFC 9068) with npm jose.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, before, test } from 'node:test'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { ISSUER } from '../../support/agent.js'
import { discover } from '../../support/features.js'
import { relyingParty, signIn } from '../../support/relying-party.js'

const API = 'https://api.example.com/'
const JWT = { access_token_strategy: 'jwt', audience: [API], scope: 'openid offline_access read write' }
const metadata = await discover(ISSUER)
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))

/** The checks of RFC 9068 §4. */
const CHECKS = {
  issuer: ISSUER,
  audience: API,
  typ: 'at+jwt',
  algorithms: ['RS256', 'ES256'],
  requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
}

let server, url

before(async () => {
  server = http.createServer(async (request, answer) => {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const [status, body] = await jwtVerify(token, keys, CHECKS).then(
      ({ payload }) => [200, payload],
      (error) => [401, { code: error.code, claim: error.claim }],
    )
    answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${server.address().port}/`
})

after(() => {
  server.closeAllConnections()
  server.close()
})

async function call(token) {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return { status: answer.status, body: await answer.json() }
}

function scopes(claims) {
  return typeof claims.scope === 'string' ? claims.scope.split(' ') : claims.scp
}

function login(configuration, scope = 'openid read') {
  return signIn(configuration, { parameters: { scope, audience: API } })
}

test('the token of a person opens the API, and says who and what for', async () => {
  const configuration = await relyingParty(JWT)
  const { access_token: token } = await login(configuration)
  const { status, body } = await call(token)
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual([body.sub, body.client_id], ['alice', configuration.clientMetadata().client_id])
  assert.deepEqual(scopes(body), ['openid', 'read'])
  assert.ok(body.exp > body.iat)
})

test('the token of a client opens the API in its own name', async () => {
  const configuration = await relyingParty(JWT)
  const tokens = await client.clientCredentialsGrant(configuration, { scope: 'write', audience: API })
  const { status, body } = await call(tokens.access_token)
  assert.equal(status, 200, JSON.stringify(body))
  const id = configuration.clientMetadata().client_id
  assert.deepEqual([body.sub, body.client_id, scopes(body)], [id, id, ['write']])
})

test('a refreshed token opens the API, and is another', async () => {
  const configuration = await relyingParty(JWT)
  const first = await login(configuration, 'openid offline_access read')
  const second = await client.refreshTokenGrant(configuration, first.refresh_token)
  const [before, now] = [await call(first.access_token), await call(second.access_token)]
  assert.equal(now.status, 200)
  assert.notEqual(now.body.jti, before.body.jti)
})

test('a token for another audience does not', async () => {
  const configuration = await relyingParty(JWT)
  const { access_token: token } = await signIn(configuration, { parameters: { scope: 'openid read' } })
  const { status, body } = await call(token)
  assert.deepEqual([status, body.claim], [401, 'aud'])
})

test('an id token does not: it is of another type', async () => {
  const configuration = await relyingParty(JWT)
  const { id_token: token } = await login(configuration)
  const { status, body } = await call(token)
  assert.deepEqual([status, body.claim], [401, 'typ'])
})

test('a token whose claims were changed does not, nor does one without a signature', async () => {
  const configuration = await relyingParty(JWT)
  const { access_token: token } = await login(configuration)
  const [header, , signature] = token.split('.')
  const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const changed = encoded({ ...decodeJwt(token), sub: 'mallory' })
  assert.equal((await call(`${header}.${changed}.${signature}`)).body.code, 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
  const unsigned = encoded({ ...decodeProtectedHeader(token), alg: 'none' })
  assert.equal((await call(`${unsigned}.${changed}.`)).status, 401)
})

test('an opaque token does not', async () => {
  const configuration = await relyingParty({ ...JWT, access_token_strategy: 'opaque' })
  const { access_token: token } = await login(configuration)
  assert.equal((await call(token)).status, 401)
})

test('the strict checks of oauth4webapi accept it too', async () => {
  const configuration = await relyingParty(JWT)
  const { access_token: token } = await login(configuration)
  const request = new Request(API, { headers: { authorization: `Bearer ${token}` } })
  const claims = await oauth.validateJwtAccessToken(metadata, request, API, { [oauth.allowInsecureRequests]: true })
  assert.equal(claims.sub, 'alice')
})
