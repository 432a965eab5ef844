// npm openid-client with authorization requests that are signed objects (RFC 9101).
import assert from 'node:assert/strict'
import http from 'node:http'
import * as client from 'openid-client'
import { Agent, ISSUER } from '../../support/agent.js'
import { discover, featuresOf, isAnnounced } from '../../support/features.js'
import { assertUsable, authorizationRequest, clientKey, refusal, relyingParty, signIn } from '../../support/relying-party.js'

const metadata = await discover(ISSUER)
const feature = featuresOf(metadata)

function signedWith(key) {
  return (configuration, parameters) => client.buildAuthorizationUrlWithJAR(configuration, parameters, key.signing)
}

async function signingParty(further = {}) {
  const key = await clientKey()
  const configuration = await relyingParty({ jwks: key.jwks, request_object_signing_alg: 'ES256', ...further })
  return { key, configuration }
}

feature('jar', 'a signed request is a whole login', async () => {
  const { key, configuration } = await signingParty()
  const { url, checks } = await authorizationRequest(configuration, {}, signedWith(key))
  assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request'])
  const tokens = await client.authorizationCodeGrant(configuration, await new Agent().walk(url), checks)
  await assertUsable(configuration, tokens)
})

feature('jar', 'what stands beside a signed request has no effect', async () => {
  const { key, configuration } = await signingParty()
  const { url, checks } = await authorizationRequest(configuration, { scope: 'openid' }, signedWith(key))
  url.searchParams.set('scope', 'openid profile offline_access')
  const tokens = await client.authorizationCodeGrant(configuration, await new Agent().walk(url), checks)
  assert.equal(tokens.scope, 'openid')
})

feature('jar', 'a request that is signed with another key is refused', async () => {
  const { configuration } = await signingParty()
  const { url } = await authorizationRequest(configuration, {}, signedWith(await clientKey()))
  assert.equal(refusal(await new Agent().walk(url)), 'invalid_request_object')
})

feature('jar', 'a client that must sign may not send a plain request', async () => {
  const { key, configuration } = await signingParty({ require_signed_request_object: true })
  const { url } = await authorizationRequest(configuration)
  assert.match(refusal(await new Agent().walk(url)) ?? '', /^invalid_request/)
  await assertUsable(configuration, await signIn(configuration, { build: signedWith(key) }))
})

if (isAnnounced('par', metadata)) {
  feature('jar', 'a signed request is pushed', async () => {
    const { key, configuration } = await signingParty()
    const build = async (about, parameters) => {
      const signed = await signedWith(key)(about, parameters)
      return client.buildAuthorizationUrlWithPAR(about, signed.searchParams)
    }
    await assertUsable(configuration, await signIn(configuration, { build }))
  })
}

feature('jar_by_reference', 'a signed request is fetched from where the client keeps it', async () => {
  let kept
  const keeper = http.createServer((_, answer) => answer.writeHead(200, { 'content-type': 'application/oauth-authz-req+jwt' }).end(kept))
  await new Promise((listening) => keeper.listen(0, '127.0.0.1', listening))
  const place = `http://127.0.0.1:${keeper.address().port}/request.jwt`
  try {
    const { key, configuration } = await signingParty({ request_uris: [place] })
    const build = async (about, parameters) => {
      const signed = await signedWith(key)(about, parameters)
      kept = signed.searchParams.get('request')
      return client.buildAuthorizationUrl(about, { request_uri: place, scope: 'openid', response_type: 'code' })
    }
    await assertUsable(configuration, await signIn(configuration, { build }))
  } finally {
    keeper.closeAllConnections()
    await new Promise((closed) => keeper.close(closed))
  }
})
