// Hydra's reference login and consent app, npm hydra-login-consent-logout, unmodified, used in Chromium.
import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import * as client from 'openid-client'
import { ADMIN, ISSUER, createClient } from '../../support/agent.js'
import { openBrowser, sees } from '../../support/chromium.js'
import { start, waitFor } from '../../support/process.js'

const { LOGIN_APP_PORT } = process.env
let app, application, callbackUrl, signedOutUrl, browser, page

before(async () => {
  app = start(process.execPath, [createRequire(import.meta.url).resolve('hydra-login-consent-logout/lib/app.js')], {
    env: { PORT: LOGIN_APP_PORT, HYDRA_ADMIN_URL: ADMIN, NODE_ENV: 'production' },
  })
  await waitFor('the reference app', app, () => fetch(`http://127.0.0.1:${LOGIN_APP_PORT}/`).then(() => true, () => undefined))
  application = http.createServer((request, response) => response.end(`application at ${request.url}`))
  await new Promise((listening) => application.listen(0, '127.0.0.1', listening))
  const { port } = application.address()
  callbackUrl = `http://127.0.0.1:${port}/callback`
  signedOutUrl = `http://127.0.0.1:${port}/signed-out`
})

after(async () => {
  application?.close()
  await app?.stop()
})

beforeEach(async () => {
  browser = await openBrowser()
  page = browser.page
})

afterEach(() => browser.close())

async function relyingParty() {
  const registered = await createClient({ redirect_uris: [callbackUrl], post_logout_redirect_uris: [signedOutUrl] })
  const basic = client.ClientSecretBasic(registered.client_secret)
  const options = { execute: [client.allowInsecureRequests] }
  const configuration = await client.discovery(new URL(ISSUER), registered.client_id, {}, basic, options)
  client.enableNonRepudiationChecks(configuration)
  return configuration
}

/** Opens the authorization request; `finish` waits for the callback and redeems the code. */
async function beginSignIn(configuration) {
  const verifier = client.randomPKCECodeVerifier()
  const state = client.randomState()
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: callbackUrl,
    scope: 'openid offline_access',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  await page.goto(url.href)
  return async () => {
    await page.waitForURL(`${callbackUrl}?*`)
    return client.authorizationCodeGrant(configuration, new URL(page.url()), { pkceCodeVerifier: verifier, expectedState: state })
  }
}

async function logIn({ password = 'foobar', remember = false } = {}) {
  await page.fill('#email', 'foo@bar.com')
  await page.fill('#password', password)
  if (remember) await page.check('#remember')
  await page.click('#accept')
}

async function consent({ remember = false } = {}) {
  await sees(page, /wants access/)
  await page.check('#openid')
  await page.check('#offline_access')
  if (remember) await page.check('#remember')
  await page.click('#accept')
}

test('login, consent and tokens, with a wrong password on the way', async () => {
  const configuration = await relyingParty()
  const finish = await beginSignIn(configuration)
  await logIn({ password: 'wrong' })
  await sees(page, /not correct/)
  await logIn()
  await consent()
  const tokens = await finish()
  assert.equal(tokens.claims().sub, 'foo@bar.com')
  assert.equal((await client.fetchUserInfo(configuration, tokens.access_token, 'foo@bar.com')).sub, 'foo@bar.com')
  assert.ok((await client.refreshTokenGrant(configuration, tokens.refresh_token)).access_token)
})

test('a remembered login and consent are not asked for again, until logout', async () => {
  const configuration = await relyingParty()
  const finish = await beginSignIn(configuration)
  await logIn({ remember: true })
  await consent({ remember: true })
  const tokens = await finish()

  const finishAgain = await beginSignIn(configuration)
  assert.equal((await finishAgain()).claims().sid, tokens.claims().sid)

  const end = client.buildEndSessionUrl(configuration, { id_token_hint: tokens.id_token, post_logout_redirect_uri: signedOutUrl })
  await page.goto(end.href)
  await sees(page, /wish to log out/)
  await page.click('#accept')
  await page.waitForURL(`${signedOutUrl}*`)

  await beginSignIn(configuration)
  await sees(page, /Please log in/)
})

for (const step of ['login', 'consent']) {
  test(`denying access at ${step} reaches the application`, async () => {
    const finish = await beginSignIn(await relyingParty())
    if (step === 'consent') await logIn()
    await page.click('#reject')
    await assert.rejects(finish(), { error: 'access_denied' })
  })
}
