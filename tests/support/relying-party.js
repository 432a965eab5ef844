// npm openid-client as the relying party: what its test files share.
import assert from 'node:assert/strict'
import * as client from 'openid-client'
import { Agent, CALLBACK, ISSUER, createClient, introspect } from './agent.js'

/**
 * What openid-client knows about a registered client; id token signatures are checked against the key set.
 *
 * `told` is metadata that the library acts on, `execute` changes how it works.
 */
export async function relyingParty(metadata = {}, authentication, { told = {}, execute = [] } = {}) {
  const registered = await createClient(metadata)
  const configuration = await client.discovery(
    new URL(ISSUER),
    registered.client_id,
    { client_secret: registered.client_secret, ...told },
    authentication ?? client.ClientSecretBasic(registered.client_secret),
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks, ...execute] },
  )
  return configuration
}

/** An authorization request as an application sends it, and what is needed to check the answer. `build` makes its URL. */
export async function authorizationRequest(configuration, parameters = {}, build = client.buildAuthorizationUrl) {
  const checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
    expectedNonce: client.randomNonce(),
    idTokenExpected: true,
  }
  const url = await build(configuration, {
    redirect_uri: CALLBACK,
    scope: 'openid offline_access',
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    ...parameters,
  })
  return { url, checks }
}

/** A whole login by way of the callback; `options` go with the token request. */
export async function signIn(configuration, { agent = new Agent(), decisions, parameters, build, options } = {}) {
  const { url, checks } = await authorizationRequest(configuration, parameters, build)
  const callback = await agent.walk(url, decisions)
  return client.authorizationCodeGrant(configuration, callback, checks, undefined, options)
}

/** `options` go with the userinfo request. */
export async function assertUsable(configuration, tokens, options) {
  assert.equal(tokens.claims().sub, 'alice')
  assert.equal(tokens.claims().aud.includes(configuration.clientMetadata().client_id), true)
  const userinfo = await client.fetchUserInfo(configuration, tokens.access_token, 'alice', options)
  assert.equal(userinfo.sub, 'alice')
  const facts = await introspect(tokens.access_token)
  assert.equal(facts.active, true)
  assert.equal(facts.sub, 'alice')
  assert.equal(facts.iss, configuration.serverMetadata().issuer)
}

/** A key pair of a client: to sign with, and as the key set to register. */
export async function clientKey() {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  const jwk = { ...(await crypto.subtle.exportKey('jwk', pair.publicKey)), kid: 'k1', use: 'sig', alg: 'ES256' }
  return { signing: { key: pair.privateKey, kid: 'k1' }, jwks: { keys: [jwk] } }
}

/** What a browser posts to the application when it is shown the page of `response_mode=form_post`. */
export function formPost(page) {
  assert.equal(page.status, 200, 'a page that posts itself')
  const target = attribute(page.body.match(/<form\b[^>]*>/i)?.[0] ?? '', 'action')
  assert.equal(target, CALLBACK)
  const inputs = [...page.body.matchAll(/<input\b[^>]*>/gi)].map(([tag]) => [attribute(tag, 'name'), attribute(tag, 'value')])
  const body = new URLSearchParams(inputs.filter(([name]) => name !== undefined))
  return new Request(target, { method: 'POST', body })
}

const ENTITIES = { amp: '&', quot: '"', lt: '<', gt: '>', apos: "'" }

function attribute(tag, name) {
  const raw = tag.match(new RegExp(`\\s${name}="([^"]*)"`, 'i'))?.[1]
  const code = (text) => (/^x/i.test(text) ? parseInt(text.slice(1), 16) : Number(text))
  return raw?.replace(/&(?:#(\w+)|(\w+));/g, (_, number, entity) => (number ? String.fromCodePoint(code(number)) : ENTITIES[entity]))
}

/** The error at which a walk ended: at the application, or on a page of the server. */
export function refusal(end) {
  if (!(end instanceof URL)) {
    assert.ok(end.status >= 400 && end.status < 500, `a page with status ${end.status}`)
    return end.body.match(/\b(?:invalid|unauthorized|access|unsupported|request)_[a-z_]+\b/)?.[0]
  }
  const answer = end.hash ? new URLSearchParams(end.hash.slice(1)) : end.searchParams
  assert.equal(answer.get('code'), null)
  return answer.get('error')
}
