// npm @auth/core (Auth.js), with the rotation of refresh tokens that its guide shows: the tokens are in a cookie of the application.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Auth, skipCSRFCheck } from '@auth/core'
import { Agent, CALLBACK, ISSUER, createClient, introspect } from '../../support/agent.js'

/** Where the application is; its callback is below that of the agent. */
const HOME = CALLBACK

/** Keeps what a sign-in gave, and has it renewed whenever somebody asks: each access token counts as expired. */
function rotating(client) {
  return {
    async jwt({ token, account }) {
      if (account) return { ...token, access_token: account.access_token, refresh_token: account.refresh_token, renewed: 0 }
      const answer = await fetch(new URL('oauth2/token', ISSUER), {
        method: 'POST',
        body: new URLSearchParams({ ...client, grant_type: 'refresh_token', refresh_token: token.refresh_token }),
      })
      const told = await answer.json()
      if (!answer.ok) return { ...token, error: told.error }
      return { ...token, access_token: told.access_token, refresh_token: told.refresh_token ?? token.refresh_token, renewed: token.renewed + 1 }
    },
    session: ({ session, token: { access_token, renewed, error } }) => ({ ...session, access_token, renewed, error }),
  }
}

/** An application, and a browser of its own: `ask` gives the answer and keeps its cookies, unless it `forgets`. */
async function application() {
  const { client_id, client_secret } = await createClient({
    redirect_uris: [`${HOME}/callback/sluice`],
    token_endpoint_auth_method: 'client_secret_post',
  })
  const errors = []
  const configuration = {
    secret: randomUUID(),
    trustHost: true,
    basePath: new URL(HOME).pathname,
    skipCSRFCheck,
    logger: { error: (error) => errors.push(`${error}: ${error.cause?.err ?? ''}`), warn() {}, debug() {} },
    providers: [
      {
        id: 'sluice',
        name: 'Sluice',
        type: 'oidc',
        issuer: ISSUER,
        clientId: client_id,
        clientSecret: client_secret,
        client: { token_endpoint_auth_method: 'client_secret_post' },
        checks: ['pkce', 'state', 'nonce'],
        authorization: { params: { scope: 'openid offline_access' } },
      },
    ],
    callbacks: rotating({ client_id, client_secret }),
  }
  const cookies = new Map()
  async function ask(path, { method = 'GET', forgets = false } = {}) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await Auth(new Request(new URL(path, `${HOME}/`), { method, headers: { cookie } }), configuration)
    for (const line of forgets ? [] : answer.headers.getSetCookie()) {
      const [pair] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    return answer
  }
  return { ask, errors }
}

/** Signs in, by way of the agent. */
async function signIn(agent = new Agent()) {
  const { ask, errors } = await application()
  const begun = await ask('signin/sluice', { method: 'POST' })
  const callback = await agent.walk(begun.headers.get('location'))
  const back = await ask(callback.href)
  assert.deepEqual(errors, [])
  assert.equal(back.status, 302)
  return { errors, back, session: async (options) => (await ask('session', options)).json() }
}

test('somebody signs in with PKCE, state and nonce, and each refresh token is good for one renewal', async () => {
  const { session } = await signIn()
  const tokens = new Set()
  for (let renewed = 1; renewed <= 4; renewed += 1) {
    const told = await session()
    assert.deepEqual([told.error, told.renewed], [undefined, renewed])
    tokens.add(told.access_token)
  }
  assert.equal(tokens.size, 4)
})

test('pages that ask at once with one refresh token all get in, and so does the next', async () => {
  const { session } = await signIn()
  await session()
  const all = await Promise.all(Array.from({ length: 4 }, () => session({ forgets: true })))
  for (const told of all) {
    assert.deepEqual([told.error, told.renewed], [undefined, 2])
    assert.equal((await introspect(told.access_token)).active, true)
  }
  const after = await session()
  assert.deepEqual([after.error, after.renewed], [undefined, 2])
})

test('who refuses is sent to the page of errors, and is not signed in', async () => {
  const { ask, errors } = await application()
  const begun = await ask('signin/sluice', { method: 'POST' })
  const decisions = { login: {}, consent: { reject: { error: 'access_denied', error_description: 'The user said no' } } }
  const callback = await new Agent().walk(begun.headers.get('location'), decisions)
  assert.equal(callback.searchParams.get('error'), 'access_denied')
  const back = await ask(callback.href)
  assert.match(back.headers.get('location'), /error/)
  assert.match(errors.join(), /access_denied|OAuthCallbackError/)
  assert.equal(await (await ask('session')).json(), null)
})
