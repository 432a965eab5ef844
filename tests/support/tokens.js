// Access tokens of every kind that a gateway meets, of the server that SLUICE_ISSUER and SLUICE_ADMIN_URL name.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { getDPoPHandle } from 'openid-client'
import { createClient, introspect } from './agent.js'
import { relyingParty, signIn } from './relying-party.js'

const SCOPE = 'openid orders.read'

/** As long as one may be that is asked for: 4096 bytes, less a few. */
const WIDE_SCOPE = ['orders.read', ...Array.from({ length: 240 }, (_, number) => `scope.number.${100 + number}`)].join(' ')

/**
 * `good` is alice's and `other` bob's; `jwt` is alice's too; `narrow` is that of a client that acts for itself, without the scope orders.read,
 * and `wide` that of another, with it and many more; `forged`, `expired` and `revoked` are what they say; `bound` is alice's and bound to its `key`, a private JWK. `spare` has a token for each of `names`, with the request that revokes it.
 */
export async function mintTokens(names) {
  const opaque = await application()
  const good = await tokenOf(opaque, 'alice')
  const revoked = await tokenOf(opaque, 'alice')
  await post(revoked.revoke.url, revoked.revoke.form, revoked.revoke.headers)
  const spare = {}
  for (const name of names) spare[name] = await tokenOf(opaque, 'alice')
  return {
    good,
    other: await tokenOf(opaque, 'bob'),
    jwt: await tokenOf(await application({ access_token_strategy: 'jwt' }), 'alice'),
    narrow: await machineToken('basket'),
    wide: await machineToken(WIDE_SCOPE),
    forged: { token: tampered(good.token) },
    expired: await expiredToken(),
    revoked,
    bound: await boundToken(opaque),
    spare,
  }
}

async function application(metadata = {}) {
  const configuration = await relyingParty({ scope: `${SCOPE} offline_access`, ...metadata })
  return { configuration, id: configuration.clientMetadata().client_id, secret: configuration.clientMetadata().client_secret }
}

async function tokenOf({ configuration, id, secret }, subject, options) {
  const tokens = await signIn(configuration, { decisions: { login: { subject } }, parameters: { scope: SCOPE }, options })
  const url = configuration.serverMetadata().revocation_endpoint
  const revoke = { url, form: { token: tokens.access_token }, headers: basic(id, secret) }
  return { token: tokens.access_token, user: subject, client: id, scope: tokens.scope ?? SCOPE, revoke }
}

async function boundToken(opaque) {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  const bound = await tokenOf(opaque, 'alice', { DPoP: getDPoPHandle(opaque.configuration, pair) })
  return { ...bound, key: await crypto.subtle.exportKey('jwk', pair.privateKey) }
}

async function machineToken(scope, metadata = {}) {
  const registered = await createClient({ grant_types: ['client_credentials'], scope, ...metadata })
  const url = new URL('oauth2/token', process.env.SLUICE_ISSUER)
  const answer = await post(url, { grant_type: 'client_credentials', scope }, basic(registered.client_id, registered.client_secret))
  return { token: (await answer.json()).access_token, client: registered.client_id, scope }
}

/** One that was good for a second, which has passed. */
async function expiredToken() {
  const expired = await machineToken('orders.read', { client_credentials_grant_access_token_lifespan: '1s' })
  while ((await introspect(expired.token)).active) await sleep(100)
  return expired
}

function basic(id, secret) {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

/** The same length, the same alphabet, another content. */
function tampered(token) {
  const at = token.length - 20
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}

async function post(url, form, headers = {}) {
  const answer = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form) })
  assert.equal(answer.status, 200, `POST ${url} answers ${answer.status}`)
  return answer
}
