// npm openid-client with pushed authorization requests (RFC 9126).
import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { Agent, ISSUER, createClient } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, authorizationRequest, clientKey, refusal, relyingParty, signIn } from '../../support/relying-party.js'

const feature = featuresOf(await discover(ISSUER))
const build = client.buildAuthorizationUrlWithPAR

feature('par', 'a pushed request is a whole login, and the browser carries no more than its name', async () => {
  const configuration = await relyingParty()
  const { url, checks } = await authorizationRequest(configuration, {}, build)
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri'])
  assert.match(url.searchParams.get('request_uri'), /^urn:ietf:params:oauth:request_uri:/)
  const tokens = await client.authorizationCodeGrant(configuration, await new Agent().walk(url), checks)
  await assertUsable(configuration, tokens)
})

feature('par', 'a request is pushed with private_key_jwt', async () => {
  const key = await clientKey()
  const metadata = { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: key.jwks }
  const configuration = await relyingParty(metadata, client.PrivateKeyJwt(key.signing))
  await assertUsable(configuration, await signIn(configuration, { build }))
})

feature('par', 'a request is pushed by a public client', async () => {
  const configuration = await relyingParty({ token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] }, client.None())
  await assertUsable(configuration, await signIn(configuration, { build }))
})

feature('par', 'a client that must push may not send its request with the browser', async () => {
  const configuration = await relyingParty({ require_pushed_authorization_requests: true })
  const { url } = await authorizationRequest(configuration)
  assert.equal(refusal(await new Agent().walk(url)), 'invalid_request')
  await assertUsable(configuration, await signIn(configuration, { build }))
})

feature('par', 'a pushed request is of no use to another client', async () => {
  const { url } = await authorizationRequest(await relyingParty(), {}, build)
  url.searchParams.set('client_id', (await createClient()).client_id)
  assert.match(refusal(await new Agent().walk(url)) ?? '', /^invalid_request/)
})

feature('par', 'a bad request is refused when it is pushed', async () => {
  const configuration = await relyingParty()
  await assert.rejects(authorizationRequest(configuration, { redirect_uri: 'https://elsewhere.example/cb' }, build), { error: 'invalid_request' })
  await assert.rejects(authorizationRequest(configuration, { scope: 'openid not-registered' }, build), { error: 'invalid_scope' })
})

feature('par', 'a wrong secret may not push', async () => {
  const configuration = await relyingParty({}, client.ClientSecretBasic('not the secret'))
  const refused = await authorizationRequest(configuration, {}, build).catch((error) => error)
  assert.equal(refused.status, 401)
})
