// npm oauth4webapi: strict about every answer, one function per request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as oauth from 'oauth4webapi'
import { Agent, CALLBACK, ISSUER, createClient, introspect } from '../../support/agent.js'
import { featuresOf, isAnnounced } from '../../support/features.js'
import { clientKey, formPost } from '../../support/relying-party.js'

const HTTP = { [oauth.allowInsecureRequests]: true }
const as = await oauth.processDiscoveryResponse(new URL(ISSUER), await oauth.discoveryRequest(new URL(ISSUER), HTTP))
const feature = featuresOf(as)

async function registered(metadata = {}, told = {}) {
  const client = await createClient(metadata)
  return { client: { client_id: client.client_id, ...told }, auth: oauth.ClientSecretBasic(client.client_secret) }
}

async function request(client, parameters = {}) {
  const verifier = oauth.generateRandomCodeVerifier()
  const checks = { verifier, state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce() }
  const asked = new URLSearchParams({
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid offline_access',
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  })
  return { checks, asked }
}

function authorize(parameters, agent = new Agent()) {
  const url = new URL(as.authorization_endpoint)
  url.search = new URLSearchParams(parameters)
  return agent.walk(url)
}

/** Redeems the code of an answer that was checked, and checks what comes for it. */
async function redeem({ client, auth }, answer, checks, options = {}) {
  const response = await oauth.authorizationCodeGrantRequest(as, client, auth, answer, CALLBACK, checks.verifier, { ...HTTP, ...options })
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: checks.nonce, requireIdToken: true })
  await oauth.validateApplicationLevelSignature(as, response, HTTP)
  assert.equal(oauth.getValidatedIdTokenClaims(tokens).sub, 'alice')
  return tokens
}

async function login(party, parameters = {}, options = {}) {
  const { checks, asked } = await request(party.client, parameters)
  const answer = oauth.validateAuthResponse(as, party.client, await authorize(asked), checks.state)
  return redeem(party, answer, checks, options)
}

async function seesUserinfo(client, token, options = {}) {
  const response = await oauth.userInfoRequest(as, client, token, { ...HTTP, ...options })
  assert.equal((await oauth.processUserInfoResponse(as, client, 'alice', response)).sub, 'alice')
}

async function refresh({ client, auth }, token, options = {}) {
  const response = await oauth.refreshTokenGrantRequest(as, client, auth, token, { ...HTTP, ...options })
  return oauth.processRefreshTokenResponse(as, client, response)
}

async function clientCredentials({ client, auth }, options = {}) {
  const response = await oauth.clientCredentialsGrantRequest(as, client, auth, {}, { ...HTTP, ...options })
  return oauth.processClientCredentialsResponse(as, client, response)
}

test('code and PKCE, userinfo, refresh, revocation', async () => {
  const party = await registered()
  const tokens = await login(party)
  await seesUserinfo(party.client, tokens.access_token)
  const refreshed = await refresh(party, tokens.refresh_token)
  await seesUserinfo(party.client, refreshed.access_token)
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, party.client, party.auth, refreshed.refresh_token, HTTP))
  assert.equal((await introspect(refreshed.access_token)).active, false)
})

test('client credentials with private_key_jwt', async () => {
  const key = await clientKey()
  const client = await createClient({ token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: key.jwks })
  const tokens = await clientCredentials({ client: { client_id: client.client_id }, auth: oauth.PrivateKeyJwt(key.signing) })
  assert.equal((await introspect(tokens.access_token)).client_id, client.client_id)
})

test('a refusal is an error that the library understands', async () => {
  const { client } = await registered()
  await assert.rejects(clientCredentials({ client, auth: oauth.ClientSecretBasic('not the secret') }), (error) => {
    assert.equal(error.status, 401)
    return true
  })
  const { checks, asked } = await request(client, { scope: 'openid not-registered' })
  const end = await authorize(asked)
  assert.throws(() => oauth.validateAuthResponse(as, client, end, checks.state), { error: 'invalid_scope' })
})

async function push({ client, auth }, asked, options = {}) {
  const response = await oauth.pushedAuthorizationRequest(as, client, auth, asked, { ...HTTP, ...options })
  const { request_uri: name, expires_in: lifetime } = await oauth.processPushedAuthorizationResponse(as, client, response)
  assert.ok(lifetime > 0)
  return { client_id: client.client_id, request_uri: name }
}

feature('par', 'a pushed authorization request', async () => {
  const party = await registered()
  const { checks, asked } = await request(party.client)
  const answer = oauth.validateAuthResponse(as, party.client, await authorize(await push(party, asked)), checks.state)
  await redeem(party, answer, checks)
})

feature('dpop', 'tokens that are bound to a key, at every endpoint', async () => {
  const party = await registered()
  const DPoP = oauth.DPoP(party.client, await oauth.generateKeyPair('ES256'))
  const tokens = await login(party, {}, { DPoP })
  assert.equal(tokens.token_type, 'dpop')
  await seesUserinfo(party.client, tokens.access_token, { DPoP })
  const refreshed = await refresh(party, tokens.refresh_token, { DPoP })
  await seesUserinfo(party.client, refreshed.access_token, { DPoP })
  assert.equal((await clientCredentials(party, { DPoP })).token_type, 'dpop')
})

feature('jar', 'a signed authorization request', async () => {
  const key = await clientKey()
  const party = await registered({ jwks: key.jwks, request_object_signing_alg: 'ES256' })
  const { checks, asked } = await request(party.client)
  const signed = await oauth.issueRequestObject(as, party.client, asked, key.signing)
  const end = await authorize({ client_id: party.client.client_id, request: signed })
  await redeem(party, oauth.validateAuthResponse(as, party.client, end, checks.state), checks)
})

feature('jarm', 'a signed authorization response', async () => {
  const party = await registered()
  const { checks, asked } = await request(party.client, { response_mode: 'jwt' })
  const answer = await oauth.validateJwtAuthResponse(as, party.client, await authorize(asked), checks.state, HTTP)
  await redeem(party, answer, checks)
})

if (['par', 'dpop', 'jar', 'jarm'].every((each) => isAnnounced(each, as))) {
  feature('par', 'all at once: signed, pushed with a proof, answered with a signature, bound to the key', async () => {
    const key = await clientKey()
    const party = await registered({ jwks: key.jwks, request_object_signing_alg: 'ES256', dpop_bound_access_tokens: true })
    const DPoP = oauth.DPoP(party.client, await oauth.generateKeyPair('ES256'))
    const { checks, asked } = await request(party.client, { response_mode: 'jwt' })
    const signed = await oauth.issueRequestObject(as, party.client, asked, key.signing)
    const end = await authorize(await push(party, { request: signed }, { DPoP }))
    const answer = await oauth.validateJwtAuthResponse(as, party.client, end, checks.state, HTTP)
    const tokens = await redeem(party, answer, checks, { DPoP })
    await seesUserinfo(party.client, tokens.access_token, { DPoP })
  })
}

feature('device', 'a device without a browser', async () => {
  const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
  const { client, auth } = await registered({ grant_types: [grantType, 'refresh_token'] })
  const asked = await oauth.deviceAuthorizationRequest(as, client, auth, { scope: 'openid' }, HTTP)
  const begun = await oauth.processDeviceAuthorizationResponse(as, client, asked)
  const ask = async () =>
    oauth.processDeviceCodeResponse(as, client, await oauth.deviceCodeGrantRequest(as, client, auth, begun.device_code, HTTP))
  await assert.rejects(ask(), { error: 'authorization_pending' })
  await new Agent().walk(begun.verification_uri_complete)
  await sleep(begun.interval * 1000) // a device that asks sooner is told to slow down
  const tokens = await ask()
  assert.equal(oauth.getValidatedIdTokenClaims(tokens).sub, 'alice')
})

feature('introspection_jwt', 'introspection that is answered with a signed JWT', async () => {
  const signed = { introspection_signed_response_alg: 'RS256' }
  const party = await registered(signed, signed)
  const { access_token: token } = await login(party)
  const response = await oauth.introspectionRequest(as, party.client, party.auth, token, { ...HTTP, requestJwtResponse: true })
  assert.match(response.headers.get('content-type'), /^application\/token-introspection\+jwt/)
  const facts = await oauth.processIntrospectionResponse(as, party.client, response)
  await oauth.validateApplicationLevelSignature(as, response, HTTP)
  assert.deepEqual([facts.active, facts.sub], [true, 'alice'])
})

for (const mode of ['fragment', 'form_post']) {
  feature('hybrid', `code id_token by ${mode}, the code checked against its hash`, async () => {
    const party = await registered({ grant_types: ['authorization_code', 'implicit'], response_types: ['code id_token'] })
    const { checks, asked } = await request(party.client, { response_type: 'code id_token', response_mode: mode, scope: 'openid' })
    const end = await authorize(asked)
    const callback = mode === 'form_post' ? formPost(end) : end
    const answer = await oauth.validateCodeIdTokenResponse(as, party.client, callback, checks.nonce, checks.state, undefined, HTTP)
    await redeem(party, answer, checks)
  })
}
