// npm openid-client and jose with answers that carry tokens: the implicit and the hybrid flow (OpenID Connect Core §3.2, §3.3).
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { Agent, ISSUER } from '../../support/agent.js'
import { discover, featuresOf } from '../../support/features.js'
import { assertUsable, authorizationRequest, formPost, refusal, relyingParty } from '../../support/relying-party.js'

const metadata = await discover(ISSUER)
const feature = featuresOf(metadata)
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))

const CODE_ALONE = [['fragment', 'fragment'], ['query', 'query'], ['form_post', 'form_post']]
const IMPLICIT = ['id_token', 'id_token token']
const HYBRID = ['code id_token', 'code token', 'code id_token token']

function party(responseType, execute = []) {
  const grantTypes = ['authorization_code', 'implicit', 'refresh_token']
  return relyingParty({ grant_types: grantTypes, response_types: [responseType] }, undefined, { execute })
}

/** What the application was told, in whichever way. */
async function answered(end) {
  if (!(end instanceof URL)) return new URLSearchParams(await formPost(end).text())
  return end.hash ? new URLSearchParams(end.hash.slice(1)) : end.searchParams
}

/** The left half of the SHA-256 of a value (OpenID Connect Core §3.1.3.6), for the algorithms that end in 256. */
function halfHash(value) {
  return createHash('sha256').update(value).digest().subarray(0, 16).toString('base64url')
}

async function verified(token, configuration, nonce) {
  const audience = configuration.clientMetadata().client_id
  const { payload, protectedHeader } = await jwtVerify(token, keys, { issuer: ISSUER, audience })
  assert.match(protectedHeader.alg, /256$/)
  assert.deepEqual([payload.sub, payload.nonce], ['alice', nonce])
  return payload
}

async function assertAnswer(responseType, configuration, { answer, checks }) {
  const wanted = new Set(responseType.split(' '))
  assert.equal(answer.get('state'), checks.expectedState)
  assert.equal(answer.has('code'), wanted.has('code'))
  assert.equal(answer.has('access_token'), wanted.has('token'))
  assert.equal(answer.has('id_token'), wanted.has('id_token'))
  if (wanted.has('token')) {
    assert.match(answer.get('token_type'), /^bearer$/i)
    assert.ok(Number(answer.get('expires_in')) > 0)
    const userinfo = await client.fetchUserInfo(configuration, answer.get('access_token'), 'alice')
    assert.equal(userinfo.sub, 'alice')
  }
  if (wanted.has('id_token')) {
    const claims = await verified(answer.get('id_token'), configuration, checks.expectedNonce)
    if (wanted.has('token')) assert.equal(claims.at_hash, halfHash(answer.get('access_token')))
    if (wanted.has('code')) assert.equal(claims.c_hash, halfHash(answer.get('code')))
  }
}

async function ask(responseType, parameters = {}) {
  const configuration = await party(responseType)
  const request = await authorizationRequest(configuration, { response_type: responseType, scope: 'openid', ...parameters })
  return { configuration, ...request, end: await new Agent().walk(request.url) }
}

for (const [mode, name] of CODE_ALONE) {
  feature(name, `a code by ${mode}`, async () => {
    const { configuration, end, checks } = await ask('code', { response_mode: mode })
    const callback = mode === 'fragment' ? new URL(end.href.replace('#', '?')) : end instanceof URL ? end : formPost(end)
    await assertUsable(configuration, await client.authorizationCodeGrant(configuration, callback, checks))
  })
}

for (const [name, types] of [['implicit', [...IMPLICIT, 'token']], ['hybrid', HYBRID]]) {
  for (const responseType of types) {
    for (const mode of [undefined, 'form_post']) {
      feature(name, `${responseType} ${mode ? `by ${mode}` : 'in the fragment'}: each part, and bound to each other`, async () => {
        const { configuration, end, checks } = await ask(responseType, mode ? { response_mode: mode } : {})
        if (!mode) assert.equal(end.search, '')
        await assertAnswer(responseType, configuration, { answer: await answered(end), checks })
      })
    }
  }
}

for (const [name, types] of [['implicit', IMPLICIT], ['hybrid', HYBRID]]) {
  for (const responseType of types) {
    feature(name, `${responseType} is refused by query`, async () => {
      const { end } = await ask(responseType, { response_mode: 'query' })
      assert.match(refusal(end) ?? '', /^(invalid_request|unsupported_response_mode)$/) // the second is Hydra's
    })
  }
}

for (const responseType of IMPLICIT) {
  feature('implicit', `${responseType} is refused without a nonce`, async () => {
    const configuration = await party(responseType)
    const { url } = await authorizationRequest(configuration, { response_type: responseType, scope: 'openid' })
    url.searchParams.delete('nonce')
    assert.equal(refusal(await new Agent().walk(url)), 'invalid_request')
  })
}

feature('implicit', 'a client that registered the code flow alone gets no token in the fragment', async () => {
  const configuration = await relyingParty()
  const { url } = await authorizationRequest(configuration, { response_type: 'id_token', scope: 'openid' })
  assert.match(refusal(await new Agent().walk(url)) ?? '', /^(unsupported_response_type|unauthorized_client)$/)
})

feature('implicit', 'openid-client believes the id token of the implicit flow', async () => {
  const configuration = await party('id_token', [client.useIdTokenResponseType])
  const { url, checks } = await authorizationRequest(configuration, { scope: 'openid' })
  const { expectedNonce, expectedState } = checks
  const claims = await client.implicitAuthentication(configuration, await new Agent().walk(url), expectedNonce, { expectedState })
  assert.equal(claims.sub, 'alice')
})

feature('hybrid', 'openid-client believes code id_token and redeems the code', async () => {
  const configuration = await party('code id_token', [client.useCodeIdTokenResponseType])
  const { url, checks } = await authorizationRequest(configuration)
  const tokens = await client.authorizationCodeGrant(configuration, await new Agent().walk(url), checks)
  await assertUsable(configuration, tokens)
})
