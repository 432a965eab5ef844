// npm openid-client with authorization responses that are signed (JARM).
import assert from 'node:assert/strict'
import { decodeProtectedHeader } from 'jose'
import * as client from 'openid-client'
import { Agent, CALLBACK, ISSUER } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, authorizationRequest, formPost, relyingParty, signIn } from '../../support/relying-party.js'

const feature = featuresOf(await discover(ISSUER))
const SIGNED = { execute: [client.useJwtResponseMode] }

feature('jarm', 'a signed response is a whole login', async () => {
  const configuration = await relyingParty({}, undefined, SIGNED)
  const { url, checks } = await authorizationRequest(configuration)
  const callback = await new Agent().walk(url)
  assert.deepEqual([...callback.searchParams.keys()], ['response'])
  await assertUsable(configuration, await client.authorizationCodeGrant(configuration, callback, checks))
})

feature('jarm', 'the response is signed with the algorithm that the client registered', async () => {
  const metadata = { authorization_signed_response_alg: 'ES256' }
  const configuration = await relyingParty(metadata, undefined, { ...SIGNED, told: metadata })
  const { url, checks } = await authorizationRequest(configuration)
  const callback = await new Agent().walk(url)
  assert.equal(decodeProtectedHeader(callback.searchParams.get('response')).alg, 'ES256')
  await assertUsable(configuration, await client.authorizationCodeGrant(configuration, callback, checks))
})

feature('jarm', 'a refusal is signed too', async () => {
  const configuration = await relyingParty({}, undefined, SIGNED)
  const decisions = { login: { reject: { error: 'access_denied', error_description: 'The user said no' } } }
  await assert.rejects(signIn(configuration, { decisions }), { error: 'access_denied' })
})

// The library reads the response from the query: what the other modes carry is put there.
for (const [mode, carried] of [
  ['query.jwt', (end) => end.searchParams],
  ['fragment.jwt', (end) => new URLSearchParams(end.hash.slice(1))],
  ['form_post.jwt', async (page) => new URLSearchParams(await formPost(page).text())],
]) {
  feature('jarm', `a signed response by ${mode}`, async () => {
    const configuration = await relyingParty({}, undefined, SIGNED)
    const { url, checks } = await authorizationRequest(configuration)
    url.searchParams.set('response_mode', mode)
    const parameters = await carried(await new Agent().walk(url))
    assert.deepEqual([...parameters.keys()], ['response'])
    const callback = new URL(`${CALLBACK}?${parameters}`)
    await assertUsable(configuration, await client.authorizationCodeGrant(configuration, callback, checks))
  })
}
