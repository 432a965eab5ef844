// What scenarios need first: clients, a login on its way, tokens.

export const CALLBACK = 'http://127.0.0.1:9/callback'
export const AFTER_LOGOUT = 'http://127.0.0.1:9/after-logout'
export const STATE = 'my-state-of-some-length'
export const NONCE = 'my-nonce-of-some-length'
export const REQUESTS = '/admin/oauth2/auth/requests'
export const CONSENTS = '/admin/oauth2/auth/sessions/consent'
export const LOGINS = '/admin/oauth2/auth/sessions/login'

/** A client that may do everything; it is no step. */
export async function client(t, metadata = {}) {
  const json = {
    client_name: 'my-application',
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'implicit'],
    response_types: ['code', 'token', 'id_token', 'code id_token', 'code token', 'code id_token token', 'id_token token'],
    scope: 'openid offline_access profile email',
    audience: ['https://api.example.com'],
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [AFTER_LOGOUT],
    token_endpoint_auth_method: 'client_secret_post',
    client_secret: 'my-secret-of-some-length',
    ...metadata,
  }
  const { json: made, status, text } = await t.quietly(() => t.admin('', 'POST /admin/clients', { json }))
  if (status !== 201) throw new Error(`a client that a scenario needs is refused: ${status} ${text}`)
  return { ...made, client_secret: json.client_secret }
}

/** What a client sends along as `client_secret_post`. */
export function secret(of) {
  return { client_id: of.client_id, client_secret: of.client_secret }
}

export function authorization(of, parameters = {}) {
  return { client_id: of.client_id, response_type: 'code', scope: 'openid offline_access', redirect_uri: CALLBACK, state: STATE, ...parameters }
}

/** A login page or its like, as the application behind it: `PUT …/accept`, or `reject` if `rejection` says with what. */
export async function decide(t, step, kind, at, { accept = {}, reject }) {
  const query = { [`${kind}_challenge`]: at?.searchParams.get(`${kind}_challenge`) ?? 'my-missing-challenge' }
  const [verb, json] = reject ? ['reject', reject] : ['accept', accept]
  const answer = await t.admin(step, `PUT ${REQUESTS}/${kind}/${verb}`, { query, json })
  return answer.json.redirect_to
}

export function challengeOf(kind, at) {
  return { [`${kind}_challenge`]: at?.searchParams.get(`${kind}_challenge`) ?? 'my-missing-challenge' }
}

/** From the authorization request to the callback, each leg a step; gives where the browser ends. */
export async function signIn(t, step, { browser = t.browser(), of, parameters, login = {}, consent = {} }) {
  const asked = await browser.open(`${step}: asks`, '/oauth2/auth', { query: authorization(of, parameters) })
  const afterLogin = await decide(t, `${step}: the login is decided`, 'login', asked.location, { accept: { subject: 'my-alice', ...login }, reject: login.reject })
  const consented = await browser.open(`${step}: after the login`, afterLogin)
  if (!consented.location?.searchParams.has('consent_challenge')) return consented
  const scope = (parameters?.scope ?? 'openid offline_access').split(' ')
  const accept = { grant_scope: scope, ...consent }
  const afterConsent = await decide(t, `${step}: the consent is decided`, 'consent', consented.location, { accept, reject: consent.reject })
  return browser.open(`${step}: after the consent`, afterConsent)
}

/** Parameters with which an answer comes back, in the query or in the fragment. */
export function answerOf(end) {
  const url = end.location ?? new URL('http://nowhere.example.com')
  return new URLSearchParams(url.hash.length > 1 ? url.hash.slice(1) : url.search)
}

/** A code, without a step. */
export async function code(t, options) {
  const end = await t.quietly(() => signIn(t, '', options))
  return answerOf(end).get('code') ?? 'my-missing-code'
}

/** Tokens for a code, without a step. */
export async function tokens(t, options) {
  const form = { grant_type: 'authorization_code', code: await code(t, options), redirect_uri: CALLBACK, ...secret(options.of) }
  const answer = await t.quietly(() => t.public('', 'POST /oauth2/token', { form }))
  return answer.json
}

/** A public key of somebody (RFC 7515, appendix A.3). */
export function publicKey(t, kid = 'my-key') {
  const [x, y] = ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'].map((value) => t.names.keep(value))
  return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid, x, y }
}
