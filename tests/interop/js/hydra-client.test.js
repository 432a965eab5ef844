// Hydra's own client, npm @ory/hydra-client, on the admin API.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Configuration, JwkApi, MetadataApi, OAuth2Api, OidcApi, WellknownApi } from '@ory/hydra-client'
import { ADMIN, AFTER_LOGOUT, Agent, CALLBACK, ISSUER, admin } from '../../support/agent.js'

const atAdmin = new Configuration({ basePath: ADMIN })
const atPublic = new Configuration({ basePath: ISSUER.replace(/\/$/, '') })
const oauth = new OAuth2Api(atAdmin)
const keys = new JwkApi(atAdmin)

function create(metadata = {}) {
  return oauth
    .createOAuth2Client({
      oAuth2Client: {
        client_name: 'hydra-client',
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        response_types: ['code'],
        scope: 'openid offline_access',
        redirect_uris: [CALLBACK],
        post_logout_redirect_uris: [AFTER_LOGOUT],
        token_endpoint_auth_method: 'client_secret_post',
        ...metadata,
      },
    })
    .then((response) => response.data)
}

/** What the promise of a call that must fail was answered with. */
async function refused(call) {
  const error = await call.then(
    () => assert.fail('the call was answered with success'),
    (error) => error,
  )
  assert.ok(error.response, error.message)
  return error.response
}

function exchange(parameters) {
  return fetch(new URL('oauth2/token', ISSUER), { method: 'POST', body: new URLSearchParams(parameters) })
}

function clientCredentials(client, secret = client.client_secret) {
  return exchange({ grant_type: 'client_credentials', client_id: client.client_id, client_secret: secret })
}

/** The challenge that `agent` is sent to the login app with. */
async function challenge(agent, url, kind) {
  const response = await agent.get(url)
  const found = new URL(response.headers.get('location')).searchParams.get(`${kind}_challenge`)
  assert.ok(found, `no ${kind} challenge in ${response.headers.get('location')}`)
  return found
}

function authorizationUrl(client, parameters = {}) {
  const url = new URL('oauth2/auth', ISSUER)
  url.search = new URLSearchParams({
    client_id: client.client_id,
    response_type: 'code',
    scope: 'openid offline_access',
    redirect_uri: CALLBACK,
    state: 'a-state-of-enough-length',
    nonce: 'a-nonce-of-enough-length',
    ...parameters,
  })
  return url
}

/** A whole login by the subject; gives the tokens. */
async function login(client, subject, { agent = new Agent(), ...consent } = {}) {
  const callback = await agent.walk(authorizationUrl(client), { login: { subject, remember: true }, consent })
  const response = await exchange({
    grant_type: 'authorization_code',
    code: callback.searchParams.get('code'),
    redirect_uri: CALLBACK,
    client_id: client.client_id,
    client_secret: client.client_secret,
  })
  assert.equal(response.status, 200, await response.clone().text())
  return response.json()
}

async function isActive(token) {
  return (await oauth.introspectOAuth2Token({ token })).data.active
}

test('a client is created from its redirect URI alone, and its secret is shown once', async () => {
  const response = await oauth.createOAuth2Client({ oAuth2Client: { redirect_uris: [CALLBACK] } })
  assert.equal(response.status, 201)
  const client = response.data
  assert.ok(client.client_secret.length >= 16)
  assert.deepEqual([client.grant_types ?? [], client.response_types ?? []], [[], []]) // what was not named is not told
  assert.equal(client.token_endpoint_auth_method, 'client_secret_basic')
  assert.equal(client.subject_type, 'public')
  assert.ok(Date.parse(client.created_at))
  const read = (await oauth.getOAuth2Client({ id: client.client_id })).data
  assert.equal(read.client_secret, undefined)
  assert.deepEqual(read.redirect_uris, [CALLBACK])
})

test('a client keeps an id, a secret, an owner and metadata of the caller', async () => {
  const id = randomUUID()
  const metadata = { tier: 'gold', nested: { list: [1, 2, 3] } }
  const client = await create({ client_id: id, client_secret: 'a chosen secret', owner: 'team-a', metadata })
  assert.deepEqual([client.client_id, client.client_secret, client.owner], [id, 'a chosen secret', 'team-a'])
  assert.deepEqual((await oauth.getOAuth2Client({ id })).data.metadata, metadata)
  assert.equal((await clientCredentials(client)).status, 200)
  assert.equal((await refused(create({ client_id: id }))).status, 409)
})

test('a client that is not there is 404 with an error in words', async () => {
  const response = await refused(oauth.getOAuth2Client({ id: 'nobody' }))
  assert.equal(response.status, 404)
  assert.equal(typeof response.data.error, 'string')
  assert.equal((await refused(oauth.setOAuth2Client({ id: 'nobody', oAuth2Client: {} }))).status, 404)
})

test('a client with a bad redirect URI is refused', async () => {
  const response = await refused(create({ redirect_uris: ['https://app.example/cb#fragment'] }))
  assert.equal(response.status, 400)
  assert.equal(response.data.error, 'invalid_redirect_uri')
})

test('put replaces a client and keeps its secret unless a new one is given', async () => {
  const client = await create()
  const { client_secret: secret, ...rest } = client
  const replaced = (await oauth.setOAuth2Client({ id: client.client_id, oAuth2Client: { ...rest, client_name: 'new name' } })).data
  assert.equal(replaced.client_name, 'new name')
  assert.equal((await clientCredentials(client, secret)).status, 200)
  await oauth.setOAuth2Client({ id: client.client_id, oAuth2Client: { ...rest, client_secret: 'the second secret' } })
  assert.equal((await clientCredentials(client, secret)).status, 401)
  assert.equal((await clientCredentials(client, 'the second secret')).status, 200)
})

test('patch changes what it names', async () => {
  const client = await create({ metadata: { a: 1 } })
  const patched = (
    await oauth.patchOAuth2Client({
      id: client.client_id,
      jsonPatch: [
        { op: 'replace', path: '/client_name', value: 'patched' },
        { op: 'add', path: '/redirect_uris/-', value: 'https://second.example/cb' },
        { op: 'replace', path: '/metadata', value: { b: 2 } },
      ],
    })
  ).data
  assert.equal(patched.client_name, 'patched')
  assert.deepEqual(patched.redirect_uris, [CALLBACK, 'https://second.example/cb'])
  assert.deepEqual(patched.metadata, { b: 2 })
  assert.equal((await clientCredentials(client)).status, 200)
})

test('patch may not change an id', async () => {
  const client = await create()
  const patch = [{ op: 'replace', path: '/client_id', value: 'other' }]
  const response = await refused(oauth.patchOAuth2Client({ id: client.client_id, jsonPatch: patch }))
  assert.ok(response.status >= 400 && response.status < 500, String(response.status))
  assert.equal((await oauth.getOAuth2Client({ id: client.client_id })).status, 200)
})

test('delete removes a client and what it may do', async () => {
  const client = await create()
  assert.equal((await oauth.deleteOAuth2Client({ id: client.client_id })).status, 204)
  assert.equal((await refused(oauth.getOAuth2Client({ id: client.client_id }))).status, 404)
  assert.equal((await clientCredentials(client)).status, 401)
})

test('clients are listed page by page, each once', async () => {
  const owner = randomUUID()
  const made = new Set()
  for (let n = 0; n < 5; n += 1) made.add((await create({ owner })).client_id)
  const seen = []
  let pageToken
  for (let page = 0; page < 6; page += 1) {
    const response = await oauth.listOAuth2Clients({ owner, pageSize: 2, pageToken })
    seen.push(...response.data.map((client) => client.client_id))
    const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.link ?? '')
    if (!next) break
    pageToken = new URL(next[1], ADMIN).searchParams.get('page_token')
  }
  assert.equal(seen.length, 5)
  assert.deepEqual(new Set(seen), made)
})

test('clients are found by name', async () => {
  const name = randomUUID()
  const client = await create({ client_name: name })
  const found = (await oauth.listOAuth2Clients({ clientName: name })).data
  assert.deepEqual(found.map((each) => each.client_id), [client.client_id])
})

test('lifespans of a client are set, obeyed and cleared', async () => {
  const client = await create()
  const id = client.client_id
  const lifespans = { client_credentials_grant_access_token_lifespan: '2m0s', refresh_token_grant_refresh_token_lifespan: '24h0m0s' }
  const set = (await oauth.setOAuth2ClientLifespans({ id, oAuth2ClientTokenLifespans: lifespans })).data
  assert.equal(set.client_credentials_grant_access_token_lifespan, '2m0s')
  assert.equal(set.refresh_token_grant_refresh_token_lifespan, '24h0m0s')
  const tokens = await (await clientCredentials(client)).json()
  assert.ok(tokens.expires_in > 115 && tokens.expires_in <= 120, String(tokens.expires_in))
  const cleared = (await oauth.setOAuth2ClientLifespans({ id, oAuth2ClientTokenLifespans: {} })).data
  assert.equal(cleared.client_credentials_grant_access_token_lifespan ?? null, null)
})

test('a rotated secret and its successor both work until the old ones are dropped', async () => {
  const client = await create()
  const rotated = await admin('POST', `/admin/clients/${client.client_id}/secrets/rotate`)
  assert.notEqual(rotated.client_secret, client.client_secret)
  assert.equal((await clientCredentials(client, client.client_secret)).status, 200)
  assert.equal((await clientCredentials(client, rotated.client_secret)).status, 200)
  await admin('DELETE', `/admin/clients/${client.client_id}/secrets/rotate`)
  assert.equal((await clientCredentials(client, client.client_secret)).status, 401)
  assert.equal((await clientCredentials(client, rotated.client_secret)).status, 200)
})

test('a login and a consent request show what was asked and are accepted', async () => {
  const client = await create({ metadata: { tier: 'gold' } })
  const agent = new Agent()
  const url = authorizationUrl(client, { login_hint: 'alice@example.com', ui_locales: 'cs en', display: 'page', tenant: 'acme' })

  const loginChallenge = await challenge(agent, url, 'login')
  const loginRequest = (await oauth.getOAuth2LoginRequest({ loginChallenge })).data
  assert.equal(loginRequest.challenge, loginChallenge)
  assert.equal(loginRequest.skip, false)
  assert.equal(loginRequest.subject, '')
  assert.equal(loginRequest.client.client_id, client.client_id)
  assert.equal(loginRequest.client.client_secret, undefined)
  assert.deepEqual(loginRequest.client.metadata, { tier: 'gold' })
  assert.deepEqual(loginRequest.requested_scope, ['openid', 'offline_access'])
  assert.equal(new URL(loginRequest.request_url).searchParams.get('login_hint'), 'alice@example.com')
  assert.equal(new URL(loginRequest.request_url).searchParams.get('tenant'), 'acme')
  assert.equal(loginRequest.oidc_context.login_hint, 'alice@example.com')
  assert.deepEqual(loginRequest.oidc_context.ui_locales, ['cs', 'en'])
  const accepted = (
    await oauth.acceptOAuth2LoginRequest({
      loginChallenge,
      acceptOAuth2LoginRequest: { subject: 'alice', acr: '1', context: { device: 'tv' } },
    })
  ).data

  const consentChallenge = await challenge(agent, accepted.redirect_to, 'consent')
  const consentRequest = (await oauth.getOAuth2ConsentRequest({ consentChallenge })).data
  assert.equal(consentRequest.challenge, consentChallenge)
  assert.equal(consentRequest.subject, 'alice')
  assert.equal(consentRequest.skip, false)
  assert.equal(consentRequest.acr, '1')
  assert.deepEqual(consentRequest.context, { device: 'tv' })
  assert.deepEqual(consentRequest.requested_scope, ['openid', 'offline_access'])
  assert.ok(consentRequest.login_session_id)
  assert.equal(new URL(consentRequest.request_url).searchParams.get('tenant'), 'acme')
  assert.ok(consentRequest.login_challenge)
  assert.equal(consentRequest.login_session_id, loginRequest.session_id)
  const { redirect_to: last } = (
    await oauth.acceptOAuth2ConsentRequest({ consentChallenge, acceptOAuth2ConsentRequest: { grant_scope: ['openid'] } })
  ).data
  const callback = new URL((await agent.get(last)).headers.get('location'))
  assert.ok(callback.searchParams.get('code'))
  assert.equal(callback.searchParams.get('state'), 'a-state-of-enough-length')
  assert.equal(callback.searchParams.get('scope'), 'openid')
})

test('a login request is rejected', async () => {
  const agent = new Agent()
  const loginChallenge = await challenge(agent, authorizationUrl(await create()), 'login')
  const rejection = { error: 'login_required', error_description: 'Not today', status_code: 403 }
  const { redirect_to: next } = (await oauth.rejectOAuth2LoginRequest({ loginChallenge, rejectOAuth2Request: rejection })).data
  const callback = new URL((await agent.get(next)).headers.get('location'))
  assert.equal(callback.searchParams.get('error'), 'login_required')
  assert.match(callback.searchParams.get('error_description'), /Not today/)
})

test('a consent request is rejected', async () => {
  const agent = new Agent()
  const loginChallenge = await challenge(agent, authorizationUrl(await create()), 'login')
  const accepted = (await oauth.acceptOAuth2LoginRequest({ loginChallenge, acceptOAuth2LoginRequest: { subject: 'alice' } })).data
  const consentChallenge = await challenge(agent, accepted.redirect_to, 'consent')
  const rejection = { error: 'access_denied', error_description: 'Not to this one' }
  const { redirect_to: next } = (await oauth.rejectOAuth2ConsentRequest({ consentChallenge, rejectOAuth2Request: rejection })).data
  const callback = new URL((await agent.get(next)).headers.get('location'))
  assert.equal(callback.searchParams.get('error'), 'access_denied')
})

test('a made-up challenge is refused', async () => {
  for (const ask of [
    () => oauth.getOAuth2LoginRequest({ loginChallenge: 'made-up' }),
    () => oauth.getOAuth2ConsentRequest({ consentChallenge: 'made-up' }),
    () => oauth.getOAuth2LogoutRequest({ logoutChallenge: 'made-up' }),
  ]) {
    const response = await refused(ask())
    assert.ok([400, 401, 404, 410].includes(response.status), String(response.status))
    assert.equal(typeof response.data.error, 'string')
  }
})

test('a logout request is shown, rejected and accepted', async () => {
  const client = await create()
  const agent = new Agent()
  const tokens = await login(client, 'alice', { agent })
  const url = new URL('oauth2/sessions/logout', ISSUER)
  url.search = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: AFTER_LOGOUT, state: 's' })

  const rejected = await challenge(agent, url, 'logout')
  const request = (await oauth.getOAuth2LogoutRequest({ logoutChallenge: rejected })).data
  assert.equal(request.subject, 'alice')
  assert.ok(request.sid)
  assert.equal(request.rp_initiated, true)
  assert.equal(new URL(request.request_url).searchParams.get('state'), 's')
  assert.equal((await oauth.rejectOAuth2LogoutRequest({ logoutChallenge: rejected })).status, 204)

  const logoutChallenge = await challenge(agent, url, 'logout')
  const accepted = (await oauth.acceptOAuth2LogoutRequest({ logoutChallenge })).data
  assert.equal((await agent.walk(accepted.redirect_to)).href, `${AFTER_LOGOUT}?state=s`)
})

test('introspection tells what a token is and nothing about a bad one', async () => {
  const client = await create()
  const tokens = await login(client, 'alice')
  const access = (await oauth.introspectOAuth2Token({ token: tokens.access_token })).data
  assert.equal(access.active, true)
  assert.equal(access.client_id, client.client_id)
  assert.equal(access.sub, 'alice')
  assert.equal(access.scope, 'openid offline_access')
  assert.equal(access.token_use, 'access_token')
  assert.equal(access.token_type, 'Bearer')
  assert.ok(access.exp > access.iat)
  const refresh = (await oauth.introspectOAuth2Token({ token: tokens.refresh_token })).data
  assert.equal(refresh.token_use, 'refresh_token')
  const narrowed = (await oauth.introspectOAuth2Token({ token: tokens.access_token, scope: 'openid missing' })).data
  assert.equal(narrowed.active, false)
  assert.deepEqual((await oauth.introspectOAuth2Token({ token: `${tokens.access_token}x` })).data, { active: false })
})

test('consent sessions are listed, and revoking one ends its tokens', async () => {
  const subject = randomUUID()
  const [first, second] = [await create(), await create()]
  const tokens = [await login(first, subject, { remember: true }), await login(second, subject, { remember: true })]

  const listed = (await oauth.listOAuth2ConsentSessions({ subject })).data
  const clients = listed.map((session) => session.consent_request.client.client_id)
  assert.deepEqual(new Set(clients), new Set([first.client_id, second.client_id]))
  assert.deepEqual(listed[0].grant_scope, ['openid', 'offline_access'])
  assert.equal(listed[0].consent_request.subject, subject)
  assert.equal(listed[0].consent_request.client.client_secret, undefined)

  assert.equal((await oauth.revokeOAuth2ConsentSessions({ subject, client: first.client_id })).status, 204)
  assert.deepEqual([await isActive(tokens[0].access_token), await isActive(tokens[1].access_token)], [false, true])
  assert.equal((await oauth.revokeOAuth2ConsentSessions({ subject, all: true })).status, 204)
  assert.equal(await isActive(tokens[1].access_token), false)
  assert.deepEqual((await oauth.listOAuth2ConsentSessions({ subject })).data, [])
})

test('revoking the login sessions of a user makes them sign in again', async () => {
  const client = await create()
  const subject = randomUUID()
  const agent = new Agent()
  await login(client, subject, { agent, remember: true })
  assert.equal((await oauth.revokeOAuth2LoginSessions({ subject })).status, 204)
  const callback = await agent.walk(authorizationUrl(client, { prompt: 'none' }))
  assert.equal(callback.searchParams.get('error'), 'login_required')
})

test('the tokens of one client are deleted, those of others are not', async () => {
  const [first, second] = [await create(), await create()]
  const tokens = await Promise.all([first, second].map(async (client) => (await clientCredentials(client)).json()))
  assert.equal((await oauth.deleteOAuth2Token({ clientId: first.client_id })).status, 204)
  assert.equal(await isActive(tokens[0].access_token), false)
  assert.equal(await isActive(tokens[1].access_token), true)
})

test('a token is revoked at the public endpoint', async () => {
  const client = await create()
  const tokens = await login(client, 'alice')
  const { client_id: clientId, client_secret: clientSecret } = client
  const revocation = { token: tokens.access_token, clientId, clientSecret }
  assert.equal((await new OAuth2Api(atPublic).revokeOAuth2Token(revocation)).status, 200)
  assert.equal(await isActive(tokens.access_token), false)
})

test('a key set is created, read, replaced and deleted', async () => {
  const set = `set-${randomUUID()}`
  const created = await keys.createJsonWebKeySet({ set, createJsonWebKeySet: { alg: 'ES256', use: 'sig', kid: 'first' } })
  assert.equal(created.status, 201)
  const [key] = created.data.keys
  assert.deepEqual([key.kid, key.alg, key.use, key.kty, key.crv], ['first', 'ES256', 'sig', 'EC', 'P-256'])
  assert.equal((await keys.getJsonWebKeySet({ set })).data.keys.length, 1)
  assert.equal((await keys.getJsonWebKey({ set, kid: 'first' })).data.keys[0].kid, 'first')

  const other = { ...key, kid: 'second' }
  assert.deepEqual((await keys.setJsonWebKeySet({ set, jsonWebKeySet: { keys: [key, other] } })).data.keys.length, 2)
  assert.equal((await keys.setJsonWebKey({ set, kid: 'second', jsonWebKey: { ...other, use: 'enc' } })).status, 200)
  assert.equal((await keys.getJsonWebKey({ set, kid: 'second' })).data.keys[0].use, 'enc')

  assert.equal((await keys.deleteJsonWebKey({ set, kid: 'first' })).status, 204)
  assert.equal((await refused(keys.getJsonWebKey({ set, kid: 'first' }))).status, 404)
  assert.equal((await keys.deleteJsonWebKeySet({ set })).status, 204)
  assert.equal((await refused(keys.getJsonWebKeySet({ set }))).status, 404)
})

test('the public key set holds no private key', async () => {
  const { data } = await new WellknownApi(atPublic).discoverJsonWebKeys()
  assert.ok(data.keys.length >= 1)
  for (const key of data.keys) {
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) assert.equal(key[secret], undefined)
  }
})

test('health, version and discovery answer', async () => {
  const metadata = new MetadataApi(atAdmin)
  assert.deepEqual((await metadata.isAlive()).data, { status: 'ok' })
  assert.deepEqual((await metadata.isReady()).data, { status: 'ok' })
  assert.equal(typeof (await metadata.getVersion()).data.version, 'string')
  assert.equal((await new OidcApi(atPublic).discoverOidcConfiguration()).data.issuer, ISSUER)
})
