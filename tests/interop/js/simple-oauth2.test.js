// npm simple-oauth2, which takes no answer that is not JSON. @fastify/oauth2 is built on it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { AuthorizationCode } from 'simple-oauth2'
import { Agent, CALLBACK, ISSUER, createClient, introspect } from '../../support/agent.js'

/** A whole login by way of the callback. */
async function signIn() {
  const { client_id: id, client_secret: secret } = await createClient()
  const auth = { tokenHost: ISSUER, tokenPath: '/oauth2/token', authorizePath: '/oauth2/auth', revokePath: '/oauth2/revoke' }
  const client = new AuthorizationCode({ client: { id, secret }, auth })
  const state = randomUUID()
  const callback = await new Agent().walk(client.authorizeURL({ redirect_uri: CALLBACK, scope: ['openid', 'offline_access'], state }))
  assert.equal(callback.searchParams.get('state'), state)
  return client.getToken({ code: callback.searchParams.get('code'), redirect_uri: CALLBACK })
}

/** Whether the access token is, and the refresh token. */
async function areActive({ token }) {
  return [(await introspect(token.access_token)).active, (await introspect(token.refresh_token)).active]
}

test('a code is redeemed, a refresh token renewed', async () => {
  const first = await signIn()
  assert.equal(first.expired(), false)
  const second = await first.refresh()
  assert.notEqual(second.token.refresh_token, first.token.refresh_token)
  assert.deepEqual(await areActive(second), [true, true])
})

test('revokeAll ends both tokens', async () => {
  const tokens = await signIn()
  await tokens.revokeAll()
  assert.deepEqual(await areActive(tokens), [false, false])
})

for (const which of ['access_token', 'refresh_token']) {
  test(`revoke ends the ${which}, and is answered as often as it is asked`, async () => {
    const tokens = await signIn()
    for (let times = 0; times < 2; times += 1) await tokens.revoke(which)
    assert.equal((await introspect(tokens.token[which])).active, false)
  })
}
