// npm openid-client with tokens that are bound to a key (RFC 9449).
import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import * as client from 'openid-client'
import { Agent, ISSUER, introspect } from '../../support/agent.js'
import { discover, featuresOf, isAnnounced } from '../../support/features.js'
import { assertUsable, authorizationRequest, relyingParty, signIn } from '../../support/relying-party.js'

const metadata = await discover(ISSUER)
const feature = featuresOf(metadata)

const PUBLIC = { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] }

async function proof(configuration, alg) {
  return client.getDPoPHandle(configuration, await client.randomDPoPKeyPair(alg))
}

// The library says Ed25519 (RFC 9864) where the server may announce it by its older name.
const NAMES = { Ed25519: ['Ed25519', 'EdDSA'] }
const isSupported = (alg) => (NAMES[alg] ?? [alg]).some((name) => metadata.dpop_signing_alg_values_supported?.includes(name))

for (const alg of ['ES256', 'RS256', 'PS256', 'Ed25519'].filter(isSupported)) {
  feature('dpop', `a login whose tokens are bound to a key of ${alg}`, async () => {
    const configuration = await relyingParty()
    const DPoP = await proof(configuration, alg)
    const tokens = await signIn(configuration, { options: { DPoP } })
    assert.equal(tokens.token_type, 'dpop')
    await assertUsable(configuration, tokens, { DPoP })
    const facts = await introspect(tokens.access_token)
    assert.equal(facts.cnf.jkt, await DPoP.calculateThumbprint())
    assert.match(facts.token_type, /^DPoP$/i)
  })
}

feature('dpop', 'a bound token is refused as a bearer token, and with another key', async () => {
  const configuration = await relyingParty()
  const DPoP = await proof(configuration)
  const { access_token: token } = await signIn(configuration, { options: { DPoP } })
  const bearer = await fetch(metadata.userinfo_endpoint, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(bearer.status, 401)
  const otherKey = { DPoP: await proof(configuration) }
  await assert.rejects(client.fetchUserInfo(configuration, token, 'alice', otherKey), (error) => error.status === 401)
})

feature('dpop', 'the refresh token of a public client works with its key alone', async () => {
  const configuration = await relyingParty(PUBLIC, client.None())
  const DPoP = await proof(configuration)
  const tokens = await signIn(configuration, { options: { DPoP } })
  const otherKey = { DPoP: await proof(configuration) }
  await assert.rejects(client.refreshTokenGrant(configuration, tokens.refresh_token, {}, otherKey), (error) => error.status === 400)
  const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token, {}, { DPoP })
  await assertUsable(configuration, refreshed, { DPoP })
})

feature('dpop', 'a client that registered so gets no token without a proof', async () => {
  const configuration = await relyingParty({ dpop_bound_access_tokens: true })
  await assert.rejects(client.clientCredentialsGrant(configuration), (error) => error.status === 400)
  const tokens = await client.clientCredentialsGrant(configuration, {}, { DPoP: await proof(configuration) })
  assert.equal(tokens.token_type, 'dpop')
})

feature('dpop', 'a code that was asked for with a thumbprint is of no use with another key', async () => {
  const configuration = await relyingParty()
  const DPoP = await proof(configuration)
  const { url, checks } = await authorizationRequest(configuration, { dpop_jkt: await DPoP.calculateThumbprint() })
  const callback = await new Agent().walk(url)
  const otherKey = { DPoP: await proof(configuration) }
  await assert.rejects(client.authorizationCodeGrant(configuration, callback, checks, undefined, otherKey), (error) => error.status === 400)
})

feature('dpop', 'a JWT access token names the key', async () => {
  const configuration = await relyingParty({ access_token_strategy: 'jwt' })
  const DPoP = await proof(configuration)
  const tokens = await signIn(configuration, { options: { DPoP } })
  assert.equal(decodeJwt(tokens.access_token).cnf.jkt, await DPoP.calculateThumbprint())
})

if (isAnnounced('par', metadata)) {
  feature('dpop', 'a request that is pushed with a proof binds its code', async () => {
    const configuration = await relyingParty()
    const DPoP = await proof(configuration)
    const build = (about, parameters) => client.buildAuthorizationUrlWithPAR(about, parameters, { DPoP })
    await assertUsable(configuration, await signIn(configuration, { build, options: { DPoP } }), { DPoP })
  })
}
