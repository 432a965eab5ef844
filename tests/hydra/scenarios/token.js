// The token endpoint: grants and refusals.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { CALLBACK, client, code, secret, tokens } from './given.js'

export async function codes(t) {
  const of = await client(t, { redirect_uris: [CALLBACK, `${CALLBACK}/2`] })
  const other = await client(t)
  const post = (step, form, options = {}) => t.public(step, 'POST /oauth2/token', { form, ...options })
  const redeem = async (step, extra = {}, options) => post(step, { grant_type: 'authorization_code', code: await code(t, { of }), redirect_uri: CALLBACK, ...secret(of), ...extra }, options)
  await redeem('a code')
  await redeem('a code, for less scope', { scope: 'openid' })
  await redeem('no redirect URI', { redirect_uri: undefined })
  await redeem('another redirect URI', { redirect_uri: `${CALLBACK}/2` })
  await redeem('another client', secret(other))
  await redeem('a wrong secret', { client_secret: 'my-wrong-secret' })
  await redeem('no secret', { client_secret: undefined })
  await redeem('an unknown client', { client_id: 'my-nobody' })
  await redeem('no client', { client_id: undefined, client_secret: undefined })
  await redeem('an unknown code', { code: 'my-wrong-code' })
  await redeem('a code with our prefix', { code: 'ory_ac_my-wrong.code' })
  await redeem('no code', { code: undefined })
  await redeem('an unknown grant', { grant_type: 'magic' })
  await redeem('no grant', { grant_type: undefined })
  await redeem('by Basic, registered for POST', { client_id: undefined, client_secret: undefined }, { basic: [of.client_id, of.client_secret] })
  await redeem('by Basic and POST', {}, { basic: [of.client_id, of.client_secret] })
  await post('nothing', {})
  await t.public('by GET', 'GET /oauth2/token')
  await t.public('JSON', 'POST /oauth2/token', { json: { grant_type: 'client_credentials', ...secret(of) } })
  await t.public('broken credentials', 'POST /oauth2/token', { form: { grant_type: 'client_credentials' }, headers: { authorization: 'Basic !!!' } })
  await t.public('a repeated parameter', 'POST /oauth2/token', { form: [['grant_type', 'client_credentials'], ['grant_type', 'client_credentials'], ...Object.entries(secret(of))] })
  await t.public('parameters in the query', 'POST /oauth2/token', { query: { grant_type: 'client_credentials', ...secret(of) }, form: {} })
  const basic = await client(t, { token_endpoint_auth_method: 'client_secret_basic' })
  await post('by POST, registered for Basic', { grant_type: 'client_credentials', ...secret(basic) })
  await post('by Basic', { grant_type: 'client_credentials' }, { basic: [basic.client_id, basic.client_secret] })
  await post('by Basic with a wrong secret', { grant_type: 'client_credentials' }, { basic: [basic.client_id, 'my-wrong-secret'] })
}

export async function refresh(t) {
  const of = await client(t)
  const other = await client(t)
  const { refresh_token: first } = await tokens(t, { of })
  const post = (step, token, extra = {}) => t.public(step, 'POST /oauth2/token', { form: { grant_type: 'refresh_token', refresh_token: token, ...secret(of), ...extra } })
  const second = await post('refresh', first)
  const third = await post('refresh the next', second.json.refresh_token)
  await post('for less', third.json.refresh_token, { scope: 'openid' })
  await post('an old one', first)
  await post('the newest after an old one', third.json.refresh_token)
  const fresh = async () => (await tokens(t, { of })).refresh_token
  const left = await post('for less scope', await fresh(), { scope: 'openid' })
  await t.admin('for less scope: introspect', 'POST /admin/oauth2/introspect', { form: { token: left.json.access_token } })
  await post('for more scope', await fresh(), { scope: 'openid offline_access profile' })
  const parameters = { scope: 'openid offline_access profile' }
  const granted = await tokens(t, { of, parameters, consent: { grant_scope: ['openid', 'offline_access'] } })
  await post('for scope that was asked for and not granted', granted.refresh_token, parameters)
  await post('with an audience', await fresh(), { audience: 'https://api.example.com' })
  await post('of another client', await fresh(), secret(other))
  await post('with a wrong secret', await fresh(), { client_secret: 'my-wrong-secret' })
  await post('an unknown one', 'ory_rt_my-wrong.token')
  await post('none', undefined)
  await post('an access token', (await tokens(t, { of })).access_token)
  const before = await tokens(t, { of })
  await post('once', before.refresh_token)
  await t.admin('once: the access token from before', 'POST /admin/oauth2/introspect', { form: { token: before.access_token } })
  await post('the same at once again', before.refresh_token)
  const once = await client(t, { grant_types: ['authorization_code'], response_types: ['code'] })
  const without = await tokens(t, { of: once })
  t.note('what a client without that grant gets', without)
  await t.public('a client without that grant', 'POST /oauth2/token', { form: { grant_type: 'refresh_token', refresh_token: await fresh(), ...secret(once) } })
}

export async function clientCredentials(t) {
  const of = await client(t)
  const ask = (step, extra = {}, options = {}) => t.public(step, 'POST /oauth2/token', { form: { grant_type: 'client_credentials', ...secret(of), ...extra }, ...options })
  const plain = await ask('nothing more')
  await t.admin('introspect', 'POST /admin/oauth2/introspect', { form: { token: plain.json.access_token } })
  await t.public('userinfo', 'GET /userinfo', { bearer: plain.json.access_token })
  const wide = await ask('a scope and an audience', { scope: 'profile email', audience: 'https://api.example.com' })
  await t.admin('a scope and an audience: introspect', 'POST /admin/oauth2/introspect', { form: { token: wide.json.access_token } })
  await ask('openid and offline_access', { scope: 'openid offline_access' })
  await ask('an unknown scope', { scope: 'secret' })
  await ask('an unknown audience', { audience: 'https://b.example.com' })
  await ask('two audiences', { audience: 'https://api.example.com https://b.example.com' })
  const open = await client(t, { token_endpoint_auth_method: 'none', client_secret: undefined })
  await t.public('a public client', 'POST /oauth2/token', { form: { grant_type: 'client_credentials', client_id: open.client_id } })
  const page = await client(t, { grant_types: ['authorization_code'], response_types: ['code'] })
  await t.public('a client without that grant', 'POST /oauth2/token', { form: { grant_type: 'client_credentials', ...secret(page) } })
  const short = await client(t, { client_credentials_grant_access_token_lifespan: '10m' })
  await t.public('a lifespan of its own', 'POST /oauth2/token', { form: { grant_type: 'client_credentials', ...secret(short) } })
  const jwt = await client(t, { access_token_strategy: 'jwt' })
  const asJwt = await t.public('a JWT', 'POST /oauth2/token', { form: { grant_type: 'client_credentials', scope: 'profile', audience: 'https://api.example.com', ...secret(jwt) } })
  await t.admin('a JWT: introspect', 'POST /admin/oauth2/introspect', { form: { token: asJwt.json.access_token } })
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

export async function assertions(t) {
  const { privateKey, publicKey: verifier } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...verifier.export({ format: 'jwk' }), kid: `my-${randomUUID()}`, alg: 'ES256', use: 'sig' }
  t.names.keep(jwk.kid)
  const of = await client(t, { grant_types: [JWT_BEARER, 'client_credentials'], response_types: [] })
  const issuers = '/admin/trust/grants/jwt-bearer/issuers'
  const trust = (step, extra = {}) => t.admin(step, `POST ${issuers}`, { json: { issuer: 'my-issuer', subject: 'my-mike', scope: ['profile'], expires_at: later(86_400), jwk: { ...jwk, kid: 'my-signer' }, ...extra } })
  const made = await trust('trust')
  await trust('trust again')
  await trust('trust without a subject')
  await trust('trust any subject', { issuer: 'my-other-issuer', subject: undefined, allow_any_subject: true })
  await trust('no issuer', { issuer: undefined })
  await trust('no key', { jwk: undefined })
  await trust('a key that is none', { jwk: { kty: 'magic' } })
  await trust('no end', { issuer: 'my-third-issuer', expires_at: undefined })
  await trust('an end that has passed', { issuer: 'my-fourth-issuer', expires_at: later(-60) })
  await t.admin('read', `GET ${issuers}/${made.json.id}`)
  await t.admin('read an unknown one', `GET ${issuers}/${randomUUIDOf(t)}`)
  await t.admin('read what is no id', `GET ${issuers}/my-nobody`)
  await t.admin('list by issuer', `GET ${issuers}`, { query: { issuer: 'my-issuer' } })
  await t.admin('list a page', `GET ${issuers}`, { query: { issuer: 'my-issuer', MaxItems: 1 } })
  await t.admin('list of nobody', `GET ${issuers}`, { query: { issuer: 'my-nobody' } })
  const claims = { iss: 'my-issuer', sub: 'my-mike', aud: `${t.publicUrl}/oauth2/token`, exp: seconds(300), iat: seconds(0), jti: `my-${randomUUID()}` }
  const ask = (step, changes = {}, extra = {}) => {
    const assertion = signed({ ...claims, jti: `my-${randomUUID()}`, ...changes }, privateKey)
    return t.public(step, 'POST /oauth2/token', { form: { grant_type: JWT_BEARER, assertion, scope: 'profile', ...secret(of), ...extra }, secretForm: ['assertion'] })
  }
  const issued = await ask('a good assertion')
  await t.admin('introspect', 'POST /admin/oauth2/introspect', { form: { token: issued.json.access_token } })
  await ask('without a scope', {}, { scope: undefined })
  await ask('a scope that is not trusted', {}, { scope: 'email' })
  await ask('another subject', { sub: 'my-nina' })
  await ask('no subject', { sub: undefined })
  await ask('another audience', { aud: 'https://b.example.com' })
  await ask('an issuer who is not trusted', { iss: 'my-nobody' })
  await ask('expired', { exp: seconds(-60) })
  await ask('without an end', { exp: undefined })
  await ask('without a jti', { jti: undefined })
  await ask('without an iat', { iat: undefined })
  await ask('too long', { exp: seconds(60 * 86_400) })
  await ask('not yet', { nbf: seconds(600) })
  await t.public('no assertion', 'POST /oauth2/token', { form: { grant_type: JWT_BEARER, ...secret(of) } })
  await t.public('an assertion that is none', 'POST /oauth2/token', { form: { grant_type: JWT_BEARER, assertion: 'my-assertion', ...secret(of) } })
  await t.admin('delete', `DELETE ${issuers}/${made.json.id}`)
  await t.admin('delete again', `DELETE ${issuers}/${made.json.id}`)
  await ask('after the delete')
}

function randomUUIDOf(t) {
  return t.names.keep('00000000-0000-4000-8000-000000000000')
}

function later(span) {
  return new Date(Date.now() + span * 1000).toISOString().replace(/\.\d+/, '')
}

function seconds(span) {
  return Math.floor(Date.now() / 1000) + span
}

function signed(claims, key) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part({ alg: 'ES256', typ: 'JWT', kid: 'my-signer' })}.${part(claims)}`
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

/** Ways in which a client shows who it is, with a key of its own. */
export async function clientAssertions(t) {
  const { privateKey, publicKey: verifier } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwks = { keys: [{ ...verifier.export({ format: 'jwk' }), kid: 'my-signer', alg: 'ES256', use: 'sig' }] }
  const of = await client(t, { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256', jwks, client_secret: undefined })
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
  const ask = (step, changes = {}, extra = {}) => {
    const claims = { iss: of.client_id, sub: of.client_id, aud: `${t.publicUrl}/oauth2/token`, exp: seconds(300), jti: `my-${randomUUID()}`, ...changes }
    return t.public(step, 'POST /oauth2/token', { form: { grant_type: 'client_credentials', client_assertion_type: type, client_assertion: signed(claims, privateKey), ...extra }, secretForm: ['client_assertion'] })
  }
  await ask('good')
  await ask('the issuer as audience', { aud: `${t.publicUrl}/` })
  await ask('another audience', { aud: 'https://b.example.com' })
  await ask('another subject', { sub: 'my-nobody' })
  await ask('expired', { exp: seconds(-60) })
  await ask('without a jti', { jti: undefined })
  await ask('without an end', { exp: undefined })
  await ask('another kind', {}, { client_assertion_type: 'magic' })
  await ask('with the id beside it', {}, { client_id: of.client_id })
  await ask('with the id of another beside it', {}, { client_id: 'my-nobody' })
  const jti = `my-${randomUUID()}`
  await ask('the first time', { jti })
  await ask('the second time', { jti })
  await t.public('the id alone', 'POST /oauth2/token', { form: { grant_type: 'client_credentials', client_id: of.client_id } })
}

