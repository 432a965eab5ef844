// Clients at the admin port.
import { CALLBACK, client, publicKey } from './given.js'

export async function create(t) {
  const make = (step, json) => t.admin(step, 'POST /admin/clients', { json })
  await make('nothing is said', {})
  await make('a name', { client_name: 'my-name' })
  await make('an id and a secret', { client_id: 'my-own-id', client_secret: 'my-own-secret' })
  await make('an id that is there', { client_id: 'my-own-id' })
  await make('a secret that is short', { client_secret: 'my-1' })
  await make('a public client', { token_endpoint_auth_method: 'none', redirect_uris: [CALLBACK] })
  await make('a public client with a secret', { token_endpoint_auth_method: 'none', client_secret: 'my-own-secret' })
  await make('all texts and addresses', {
    client_name: 'my-name', owner: 'my-owner', contacts: ['a@example.com', 'b@example.com'],
    client_uri: 'https://a.example.com', logo_uri: 'https://a.example.com/logo.png', policy_uri: 'https://a.example.com/policy', tos_uri: 'https://a.example.com/tos',
    redirect_uris: ['https://a.example.com/cb', 'https://a.example.com/other?a=b'], post_logout_redirect_uris: ['https://a.example.com/out'],
    allowed_cors_origins: ['https://spa.example.com', 'http://localhost:3000'], audience: ['https://api.example.com', 'my-audience'], scope: 'openid a b',
  })
  await make('logouts', {
    redirect_uris: ['https://a.example.com/cb'],
    backchannel_logout_uri: 'https://a.example.com/back', backchannel_logout_session_required: true,
    frontchannel_logout_uri: 'https://a.example.com/front', frontchannel_logout_session_required: true, skip_logout_consent: true, skip_consent: true,
  })
  await make('keys', { jwks: { keys: [publicKey(t)] }, token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256' })
  await make('an address of keys', { jwks_uri: 'https://a.example.com/keys', token_endpoint_auth_method: 'private_key_jwt' })
  await make('keys and their address', { jwks: { keys: [publicKey(t)] }, jwks_uri: 'https://a.example.com/keys' })
  await make('a JWT as access token', { access_token_strategy: 'jwt' })
  await make('an unknown form of access token', { access_token_strategy: 'paper' })
  await make('signed objects', { request_object_signing_alg: 'RS256', userinfo_signed_response_alg: 'RS256', request_uris: ['https://a.example.com/request'] })
  await make('pairwise', { subject_type: 'pairwise', redirect_uris: ['https://a.example.com/cb'] })
  await make('pairwise with JWTs', { subject_type: 'pairwise', access_token_strategy: 'jwt', redirect_uris: ['https://a.example.com/cb'] })
  await make('an unknown subject type', { subject_type: 'secret' })
  await make('metadata of any kind', { metadata: { a: [1, { b: null }], 'my-key': 'x', big: 12345678901234567890, half: 0.5 } })
  await make('metadata that is a text', { metadata: 'text' })
  await make('metadata that is null', { metadata: null })
  await make('grant and response types', { grant_types: ['implicit', 'refresh_token', 'authorization_code'], response_types: ['code', 'code id_token', 'token'], redirect_uris: [CALLBACK] })
  await make('unknown grant and response types', { grant_types: ['magic'], response_types: ['wand'] })
  await make('lifespans', {
    authorization_code_grant_access_token_lifespan: '1h', authorization_code_grant_id_token_lifespan: '90m', authorization_code_grant_refresh_token_lifespan: '720h',
    client_credentials_grant_access_token_lifespan: '30s', implicit_grant_access_token_lifespan: '1h30m0s', implicit_grant_id_token_lifespan: '100ms',
    jwt_bearer_grant_access_token_lifespan: '2h', refresh_token_grant_access_token_lifespan: '3h', refresh_token_grant_id_token_lifespan: '4h', refresh_token_grant_refresh_token_lifespan: '5h',
  })
  await make('a lifespan that is none', { client_credentials_grant_access_token_lifespan: 'soon' })
  await make('a lifespan that is a number', { client_credentials_grant_access_token_lifespan: 3600 })
  await make('members that servers say', { created_at: '2020-01-01T00:00:00Z', updated_at: '2020-01-01T00:00:00Z', client_secret_expires_at: 7, registration_access_token: 'my-token', registration_client_uri: 'https://a.example.com' })
  await make('a member that nobody knows', { favourite_colour: 'blue' })
}

export async function createErrors(t) {
  const make = (step, json) => t.admin(step, 'POST /admin/clients', { json })
  await make('a redirect URI with a fragment', { redirect_uris: ['https://a.example.com/cb#x'] })
  await make('a redirect URI without a scheme', { redirect_uris: ['/cb'] })
  await make('a redirect URI that is none', { redirect_uris: ['http://[::1'] })
  await make('an empty redirect URI', { redirect_uris: [''] })
  await make('a redirect URI over plain http', { redirect_uris: ['http://a.example.com/cb'] })
  await make('a redirect URI of a native application', { redirect_uris: ['com.example.app:/cb', 'my.app://cb'] })
  await make('a redirect URI that is a script', { redirect_uris: ['javascript:alert(1)'] })
  await make('a logout address that is no redirect URI', { redirect_uris: ['https://a.example.com/cb'], post_logout_redirect_uris: ['https://b.example.com/out'] })
  await make('redirect URIs that are a text', { redirect_uris: 'https://a.example.com/cb' })
  await make('grant types that are a text', { grant_types: 'code' })
  await make('a name that is a number', { client_name: 7 })
  await make('lists that are null', { redirect_uris: null, grant_types: null, response_types: null, contacts: null, audience: null, jwks: null })
  await make('lists that are empty', { redirect_uris: [], grant_types: [], response_types: [], contacts: [], audience: [], allowed_cors_origins: [], post_logout_redirect_uris: [], request_uris: [] })
  await make('keys that are none', { jwks: { keys: [{ kty: 'magic' }] } })
  await make('keys that are a text', { jwks: 'keys' })
  await make('an unknown way to authenticate', { token_endpoint_auth_method: 'handshake' })
  await make('an algorithm for userinfo that is unknown', { userinfo_signed_response_alg: 'HS256' })
  await make('an algorithm for request objects that is unknown', { request_object_signing_alg: 'magic' })
  await make('an origin that is none', { allowed_cors_origins: ['spa.example.com'] })
  await make('a sector', { subject_type: 'pairwise', sector_identifier_uri: 'http://a.example.com/sector.json' })
  await make('a scope with odd spaces', { scope: '  a   b ' })
  await make('an id with spaces', { client_id: 'my own id' })
  await make('addresses that are none', { client_uri: 'a', logo_uri: 'b', policy_uri: 'c', tos_uri: 'd' })
  await make('a front-channel address with a fragment', { frontchannel_logout_uri: 'https://a.example.com/#a' })
  const text = (step, body, type = 'application/json') => t.admin(step, 'POST /admin/clients', { text: body, headers: { 'content-type': type } })
  await text('broken JSON', '{"client_name":')
  await text('a JSON list', '[]')
  await text('JSON null', 'null')
  await text('nothing', '')
  await text('JSON as plain text', '{"client_name":"my-name"}', 'text/plain')
  await t.admin('a form', 'POST /admin/clients', { form: { client_name: 'my-name' } })
}

export async function readAndChange(t) {
  const { client_id: id } = await client(t, { metadata: { a: 1 }, owner: 'my-owner' })
  const at = `/admin/clients/${id}`
  await t.admin('get', `GET ${at}`)
  await t.admin('get with a slash at the end', `GET ${at}/`)
  await t.admin('get one that is not there', 'GET /admin/clients/my-nobody')
  await t.admin('put without an id', `PUT ${at}`, { json: { client_name: 'my-other', redirect_uris: [CALLBACK] } })
  await t.admin('get after the put', `GET ${at}`)
  await t.admin('put with the same id', `PUT ${at}`, { json: { client_id: id, client_name: 'my-same' } })
  await t.admin('put with another id', `PUT ${at}`, { json: { client_id: 'my-another', client_name: 'my-another' } })
  await t.admin('put with a secret', `PUT ${at}`, { json: { client_secret: 'my-new-secret-of-length' } })
  await t.admin('put with a short secret', `PUT ${at}`, { json: { client_secret: 'my-1' } })
  await t.admin('put with nothing', `PUT ${at}`, { json: {} })
  await t.admin('put with a bad redirect URI', `PUT ${at}`, { json: { redirect_uris: ['/cb'] } })
  await t.admin('put with broken JSON', `PUT ${at}`, { text: '{', headers: { 'content-type': 'application/json' } })
  await t.admin('put to one that is not there', 'PUT /admin/clients/my-nobody', { json: { client_name: 'my-name' } })
  await t.admin('delete', `DELETE ${at}`)
  await t.admin('delete again', `DELETE ${at}`)
  await t.admin('get after the delete', `GET ${at}`)
  await t.admin('a method that there is not', `POST ${at}`, { json: {} })
  await t.admin('a path without /admin', 'GET /clients/my-nobody')
}

export async function patch(t) {
  const { client_id: id } = await client(t, { metadata: { a: 1 }, contacts: ['a@example.com'] })
  const patched = (step, json) => t.admin(step, `PATCH /admin/clients/${id}`, { json })
  await patched('replace', [{ op: 'replace', path: '/client_name', value: 'my-patched' }])
  await patched('add to the end of a list', [{ op: 'add', path: '/redirect_uris/-', value: 'http://127.0.0.1:9/other' }])
  await patched('add to a list that is empty', [{ op: 'add', path: '/allowed_cors_origins/-', value: 'https://spa.example.com' }])
  await patched('replace what is not there', [{ op: 'replace', path: '/policy_uri', value: 'https://a.example.com' }])
  await patched('add to metadata', [{ op: 'add', path: '/metadata/b', value: { c: [1] } }])
  await patched('replace metadata', [{ op: 'replace', path: '/metadata', value: { z: true } }])
  await patched('the id', [{ op: 'replace', path: '/client_id', value: 'my-patched-id' }])
  await patched('the secret', [{ op: 'replace', path: '/client_secret', value: 'my-patched-secret' }])
  await patched('an unknown member', [{ op: 'add', path: '/favourite_colour', value: 'blue' }])
  await patched('a lifespan', [{ op: 'replace', path: '/client_credentials_grant_access_token_lifespan', value: '10m' }])
  await patched('a bad redirect URI', [{ op: 'replace', path: '/redirect_uris', value: ['/cb'] }])
  await patched('a wrong type', [{ op: 'replace', path: '/redirect_uris', value: 7 }])
  await patched('an unknown operation', [{ op: 'paint', path: '/client_name', value: 'a' }])
  await patched('no path', [{ op: 'replace', value: 'a' }])
  await patched('an empty list', [])
  await patched('an object', { client_name: 'my-name' })
  await patched('a test that fails', [{ op: 'test', path: '/client_name', value: 'my-nobody' }])
  await patched('a path in capitals', [{ op: 'replace', path: '/Client_Name', value: 'my-capitals' }])
  await patched('remove', [{ op: 'remove', path: '/contacts' }])
  await patched('a test that holds', [{ op: 'test', path: '/client_name', value: 'my-patched' }, { op: 'replace', path: '/client_name', value: 'my-held' }])
  await patched('move', [{ op: 'move', from: '/client_name', path: '/owner' }])
  await patched('copy', [{ op: 'copy', from: '/owner', path: '/client_name' }])
  await t.admin('broken JSON', `PATCH /admin/clients/${id}`, { text: '[', headers: { 'content-type': 'application/json' } })
  await t.admin('as a JSON patch', `PATCH /admin/clients/${id}`, { text: '[{"op":"replace","path":"/owner","value":"my-owner"}]', headers: { 'content-type': 'application/json-patch+json' } })
  await t.admin('one that is not there', 'PATCH /admin/clients/my-nobody', { json: [{ op: 'replace', path: '/client_name', value: 'a' }] })
}

export async function lifespans(t) {
  const { client_id: id } = await client(t)
  const put = (step, json) => t.admin(step, `PUT /admin/clients/${id}/lifespans`, { json })
  await put('some', { authorization_code_grant_access_token_lifespan: '1h', client_credentials_grant_access_token_lifespan: '1m30s' })
  await put('others, the first are gone', { refresh_token_grant_refresh_token_lifespan: '24h' })
  await put('null', { refresh_token_grant_refresh_token_lifespan: null })
  await put('nothing', {})
  await put('a text that is none', { refresh_token_grant_refresh_token_lifespan: 'soon' })
  await put('a negative one', { refresh_token_grant_refresh_token_lifespan: '-1h' })
  await put('an empty one', { refresh_token_grant_refresh_token_lifespan: '' })
  await put('zero', { refresh_token_grant_refresh_token_lifespan: '0s' })
  await t.admin('of one that is not there', 'PUT /admin/clients/my-nobody/lifespans', { json: {} })
}

export async function list(t) {
  for (const number of [1, 2, 3, 4, 5]) await client(t, { client_id: `my-list-${number}`, client_name: number < 4 ? 'my-list' : 'my-other-list', owner: 'my-list-owner' })
  const listed = (step, query) => t.admin(step, 'GET /admin/clients', { query })
  const short = { owner: 'my-list-owner' }
  await listed('by owner', short)
  await listed('by name', { client_name: 'my-list' })
  await listed('by name and owner', { client_name: 'my-list', ...short })
  await listed('of nobody', { owner: 'my-nobody' })
  const first = await listed('the first two', { page_size: 2, ...short })
  const next = nextToken(first)
  const second = await listed('the next two', { page_size: 2, page_token: next, ...short })
  await listed('the last', { page_size: 2, page_token: nextToken(second), ...short })
  await listed('exactly all', { page_size: 5, ...short })
  await listed('a page of zero', { page_size: 0, ...short })
  await listed('a page of less than nothing', { page_size: -1, ...short })
  await listed('a page that is a text', { page_size: 'many', ...short })
  await listed('a page of very many', { page_size: 100000, ...short })
  await listed('a wrong token', { page_token: 'my-wrong-token', ...short })
  await listed('an old way to ask', { limit: 1, offset: 1, ...short })
}

function nextToken(answer) {
  const target = answer.headers.get('link')?.match(/<([^>]*)>; *rel="next"/)?.[1]
  return target ? new URL(target, 'http://a.example.com').searchParams.get('page_token') : undefined
}
