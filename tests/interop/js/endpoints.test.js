// npm openid-client on what is asked besides tokens: introspection, signed userinfo, registration, pairwise subjects.
import assert from 'node:assert/strict'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { CALLBACK, ISSUER } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, relyingParty, signIn } from '../../support/relying-party.js'

const metadata = await discover(ISSUER)
const feature = featuresOf(metadata)

feature('introspection', 'a client is told about its own token, and nothing about one that is revoked', async () => {
  const configuration = await relyingParty()
  const tokens = await signIn(configuration)
  const facts = await client.tokenIntrospection(configuration, tokens.access_token)
  assert.deepEqual([facts.active, facts.sub, facts.client_id], [true, 'alice', configuration.clientMetadata().client_id])
  await client.tokenRevocation(configuration, tokens.access_token)
  assert.deepEqual(await client.tokenIntrospection(configuration, tokens.access_token), { active: false })
})

feature('introspection', 'a stranger is told nothing', async () => {
  const configuration = await relyingParty({}, client.ClientSecretBasic('not the secret'))
  await assert.rejects(client.tokenIntrospection(configuration, 'a token'), (error) => error.status === 401)
})

feature('introspection_jwt', 'introspection is answered with a signed JWT (RFC 9701)', async () => {
  const signed = { introspection_signed_response_alg: 'RS256' }
  const configuration = await relyingParty(signed, undefined, { told: signed })
  const { access_token: token } = await signIn(configuration)
  const facts = await client.tokenIntrospection(configuration, token)
  assert.deepEqual([facts.active, facts.sub], [true, 'alice'])
})

feature('signed_userinfo', 'userinfo is answered with a signed JWT', async () => {
  const signed = { userinfo_signed_response_alg: 'RS256' }
  const configuration = await relyingParty(signed, undefined, { told: signed })
  const tokens = await signIn(configuration)
  await assertUsable(configuration, tokens)
  const answer = await fetch(metadata.userinfo_endpoint, { headers: { authorization: `Bearer ${tokens.access_token}` } })
  assert.match(answer.headers.get('content-type'), /^application\/jwt/)
  const audience = configuration.clientMetadata().client_id
  await jwtVerify(await answer.text(), createRemoteJWKSet(new URL(metadata.jwks_uri)), { issuer: ISSUER, audience })
})

const REGISTRATION = {
  client_name: 'registers itself',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  scope: 'openid offline_access',
  // What openid-client uses unless it is told otherwise.
  token_endpoint_auth_method: 'client_secret_post',
}

function registerSelf(further = {}) {
  const execute = [client.allowInsecureRequests, client.enableNonRepudiationChecks]
  return client.dynamicClientRegistration(new URL(ISSUER), { ...REGISTRATION, ...further }, undefined, { execute })
}

feature('dynamic_registration', 'a client that registered itself signs people in', async () => {
  const configuration = await registerSelf()
  await assertUsable(configuration, await signIn(configuration))
})

feature('dynamic_registration', 'a client reads and deletes itself with the token it was given', async () => {
  const registered = (await registerSelf()).clientMetadata()
  const headers = { authorization: `Bearer ${registered.registration_access_token}` }
  const read = await fetch(registered.registration_client_uri, { headers })
  assert.equal(read.status, 200)
  assert.equal((await read.json()).client_id, registered.client_id)
  const stranger = await fetch(registered.registration_client_uri, { headers: { authorization: 'Bearer made-up' } })
  assert.equal(stranger.status, 401)
  assert.equal((await fetch(registered.registration_client_uri, { method: 'DELETE', headers })).status, 204)
  assert.equal((await fetch(registered.registration_client_uri, { headers })).status, 401)
})

feature('dynamic_registration', 'a bad redirect URI is refused in words', async () => {
  await assert.rejects(registerSelf({ redirect_uris: ['https://app.example/cb#fragment'] }), { error: 'invalid_redirect_uri' })
})

feature('pairwise', 'a client is shown a subject of its own, the same each time', async () => {
  const configuration = await relyingParty({ subject_type: 'pairwise' })
  const [first, second] = [await signIn(configuration), await signIn(configuration)]
  assert.notEqual(first.claims().sub, 'alice')
  assert.equal(second.claims().sub, first.claims().sub)
  const userinfo = await client.fetchUserInfo(configuration, first.access_token, first.claims().sub)
  assert.equal(userinfo.sub, first.claims().sub)
})
