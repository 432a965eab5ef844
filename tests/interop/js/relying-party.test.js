// npm openid-client as the relying party.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { AFTER_LOGOUT, Agent, CALLBACK, ISSUER, introspect } from '../../support/agent.js'
import { assertUsable, authorizationRequest, clientKey, relyingParty, signIn } from '../../support/relying-party.js'

test('discovery names every endpoint and method of the code flow', async () => {
  const metadata = (await relyingParty()).serverMetadata()
  assert.equal(metadata.issuer, ISSUER)
  for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'revocation_endpoint', 'end_session_endpoint', 'jwks_uri']) {
    assert.ok(metadata[endpoint]?.startsWith(ISSUER), endpoint)
  }
  assert.ok(metadata.code_challenge_methods_supported.includes('S256'))
  assert.ok(metadata.grant_types_supported.includes('refresh_token'))
  assert.ok(metadata.id_token_signing_alg_values_supported.includes('RS256'))
})

test('code and PKCE with client_secret_basic: id token, userinfo, refresh, revocation', async () => {
  const configuration = await relyingParty()
  const tokens = await signIn(configuration)
  assert.equal(tokens.token_type, 'bearer')
  await assertUsable(configuration, tokens)

  const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token)
  assert.notEqual(refreshed.access_token, tokens.access_token)
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token)
  await assertUsable(configuration, refreshed)

  await client.tokenRevocation(configuration, refreshed.refresh_token)
  assert.equal((await introspect(refreshed.access_token)).active, false)
  await assert.rejects(client.refreshTokenGrant(configuration, refreshed.refresh_token), { error: 'invalid_grant' })
})

test('code and PKCE with client_secret_post', async () => {
  const registered = { client_secret: 'a chosen secret, long enough', token_endpoint_auth_method: 'client_secret_post' }
  const configuration = await relyingParty(registered, client.ClientSecretPost(registered.client_secret))
  await assertUsable(configuration, await signIn(configuration))
})

test('a secret with reserved characters works in a Basic header', async () => {
  const secret = 'a b:c/d%2Be+f&g=é and more'
  const configuration = await relyingParty({ client_secret: secret }, client.ClientSecretBasic(secret))
  await assertUsable(configuration, await signIn(configuration))
})

test('a public client needs PKCE and nothing else', async () => {
  const configuration = await relyingParty({ token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] }, client.None())
  const tokens = await signIn(configuration)
  await assertUsable(configuration, tokens)
  await assertUsable(configuration, await client.refreshTokenGrant(configuration, tokens.refresh_token))
})

for (const [named, audience] of [['issuer', (server) => server.issuer], ['token endpoint', (server) => server.token_endpoint]]) {
  test(`private_key_jwt addressed to the ${named}`, async () => {
    const key = await clientKey()
    const authentication = client.PrivateKeyJwt(
      key.signing,
      { [client.modifyAssertion]: (header, payload) => (payload.aud = audience(configuration.serverMetadata())) },
    )
    const configuration = await relyingParty(
      { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks: key.jwks },
      authentication,
    )
    await assertUsable(configuration, await signIn(configuration))
  })
}

test('client credentials', async () => {
  const configuration = await relyingParty({ scope: 'read write' })
  const tokens = await client.clientCredentialsGrant(configuration, { scope: 'read' })
  const facts = await introspect(tokens.access_token)
  assert.deepEqual([facts.active, facts.scope, facts.client_id], [true, 'read', configuration.clientMetadata().client_id])
  assert.equal(tokens.refresh_token, undefined)
})

test('a JWT access token can be introspected and revoked', async () => {
  const configuration = await relyingParty({ access_token_strategy: 'jwt' })
  const tokens = await signIn(configuration)
  assert.equal(tokens.access_token.split('.').length, 3)
  await assertUsable(configuration, tokens)
  await client.tokenRevocation(configuration, tokens.access_token)
  assert.equal((await introspect(tokens.access_token)).active, false)
})

test('claims that the consent app gives arrive in the id token and in introspection', async () => {
  const configuration = await relyingParty()
  const session = { id_token: { given_name: 'Alice' }, access_token: { tenant: 'north' } }
  const tokens = await signIn(configuration, {
    decisions: { login: { acr: '2', amr: ['pwd', 'otp'], context: { from: 'login' } }, consent: { session } },
  })
  const claims = tokens.claims()
  assert.equal(claims.given_name, 'Alice')
  assert.equal(claims.acr, '2')
  assert.deepEqual(claims.amr, ['pwd', 'otp'])
  assert.equal(typeof claims.auth_time, 'number')
  assert.equal((await introspect(tokens.access_token)).ext.tenant, 'north')
})

test('only the scopes that were granted are in the token', async () => {
  const configuration = await relyingParty()
  const tokens = await signIn(configuration, {
    decisions: { consent: { grant_scope: ['openid'] } },
    parameters: { scope: 'openid offline_access profile' },
  })
  assert.equal(tokens.scope, 'openid')
  assert.equal(tokens.refresh_token, undefined)
})

for (const step of ['login', 'consent']) {
  test(`a refused ${step} reaches the application as access_denied`, async () => {
    const configuration = await relyingParty()
    const decisions = { [step]: { reject: { error: 'access_denied', error_description: 'The user said no' } } }
    await assert.rejects(signIn(configuration, { decisions }), (error) => {
      assert.equal(error.error, 'access_denied')
      assert.match(error.error_description, /The user said no/)
      return true
    })
  })
}

test('a remembered user signs in without a page, a stranger with prompt=none may not', async () => {
  const configuration = await relyingParty()
  const silently = { prompt: 'none' }
  await assert.rejects(signIn(configuration, { parameters: silently }), { error: 'login_required' })

  const agent = new Agent({ login: { remember: true, remember_for: 3600 }, consent: { remember: true, remember_for: 3600 } })
  const first = await signIn(configuration, { agent })
  const again = []
  const decisions = { login: { seen: (request) => again.push(request.skip) }, consent: { seen: (request) => again.push(request.skip) } }
  const second = await signIn(configuration, { agent, decisions, parameters: silently })
  assert.deepEqual(again, [true, true])
  assert.equal(second.claims().sid, first.claims().sid)
  assert.equal(second.claims().auth_time, first.claims().auth_time)
})

test('prompt=login asks a remembered user again', async () => {
  const configuration = await relyingParty()
  const agent = new Agent({ login: { remember: true }, consent: {} })
  await signIn(configuration, { agent })
  let skipped
  const decisions = { login: { subject: 'alice', seen: (request) => (skipped = request.skip) } }
  await signIn(configuration, { agent, decisions, parameters: { prompt: 'login' } })
  assert.equal(skipped, false)
})

test('a wrong code verifier is refused', async () => {
  const configuration = await relyingParty()
  const { url, checks } = await authorizationRequest(configuration)
  const callback = await new Agent().walk(url)
  const wrong = { ...checks, pkceCodeVerifier: client.randomPKCECodeVerifier() }
  await assert.rejects(client.authorizationCodeGrant(configuration, callback, wrong), { error: 'invalid_grant' })
})

test('a code used twice is refused and its tokens die', async () => {
  const configuration = await relyingParty()
  const { url, checks } = await authorizationRequest(configuration)
  const callback = await new Agent().walk(url)
  const tokens = await client.authorizationCodeGrant(configuration, callback, checks)
  await assert.rejects(client.authorizationCodeGrant(configuration, callback, checks), { error: 'invalid_grant' })
  assert.equal((await introspect(tokens.access_token)).active, false)
})

test('a wrong secret is invalid_client, told with a challenge', async () => {
  const configuration = await relyingParty({}, client.ClientSecretBasic('not the secret'))
  const refusal = await client.clientCredentialsGrant(configuration).catch((error) => error)
  assert.equal(refusal.status, 401)
  assert.equal(refusal.cause[0].scheme, 'basic')
  assert.equal((await refusal.response.json()).error, 'invalid_client')
})

test('an unregistered redirect URI is never redirected to', async () => {
  const configuration = await relyingParty()
  const { url } = await authorizationRequest(configuration, { redirect_uri: `${CALLBACK}/elsewhere` })
  const response = await new Agent().get(url)
  assert.ok(!response.headers.get('location')?.startsWith(CALLBACK), response.headers.get('location'))
})

test('logout ends the session and comes back to the application', async () => {
  const configuration = await relyingParty()
  const agent = new Agent({ login: { remember: true }, consent: { remember: true } })
  const tokens = await signIn(configuration, { agent })
  const url = client.buildEndSessionUrl(configuration, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: AFTER_LOGOUT,
    state: 'see you',
  })
  const end = await agent.walk(url)
  assert.equal(end.href, `${AFTER_LOGOUT}?state=see%20you`)
  await assert.rejects(signIn(configuration, { agent, parameters: { prompt: 'none' } }), { error: 'login_required' })
})
