// An application that people sign in to with a browser: npm openid-client behind a page of its own.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import * as client from 'openid-client'

const PATIENCE = 10_000

/** Starts one that is registered at `server` (of `serve`). `metadata` may be a function of the application's origin. */
export async function startApplication(server, metadata = {}) {
  const site = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>The application</title><h1>The application</h1>')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const url = `http://127.0.0.1:${site.address().port}`
  const callback = `${url}/callback`
  const more = typeof metadata === 'function' ? metadata(url) : metadata
  const registered = await register(server, { redirect_uris: [callback], ...more })
  const configuration = await client.discovery(
    new URL(server.issuer),
    registered.client_id,
    registered.client_secret,
    client.ClientSecretBasic(registered.client_secret),
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
  )
  return {
    name: registered.client_name,
    url,
    configuration,
    begin: (page, parameters) => begin(configuration, callback, page, parameters),
    introspect: (token) => introspect(server, token),
    stop: () => new Promise((closed) => site.close(closed)),
  }
}

/** Registers an application at `server`, with `metadata` over what this one has. */
export async function register(server, metadata) {
  const answer = await fetch(`${server.adminUrl}/admin/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'The application',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'openid offline_access email profile',
      token_endpoint_auth_method: 'client_secret_basic',
      ...metadata,
    }),
  })
  assert.equal(answer.status, 201)
  return answer.json()
}

/**
 * Sends `page` to sign in. Gives what waits for the end: `tokens()`, once the browser is back with a code, which says yes to
 * what is asked on the way; `refusal()`, once it is back without.
 */
async function begin(configuration, callback, page, parameters = {}) {
  const checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
    expectedNonce: client.randomNonce(),
    idTokenExpected: true,
  }
  const url = client.buildAuthorizationUrl(configuration, {
    redirect_uri: callback,
    scope: 'openid offline_access email profile',
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    ...parameters,
  })
  await page.goto(url.href)
  const isBack = (address) => address.href.startsWith(callback)
  return {
    async tokens() {
      const accept = page.locator('button[name=decision][value=accept]')
      const home = page.getByRole('heading', { name: 'The application', exact: true })
      await accept.or(home).waitFor()
      if (await accept.isVisible()) await accept.click()
      await page.waitForURL(isBack, { timeout: PATIENCE })
      return client.authorizationCodeGrant(configuration, new URL(page.url()), checks)
    },
    async refusal() {
      await page.waitForURL(isBack, { timeout: PATIENCE })
      return new URL(page.url()).searchParams.get('error')
    },
  }
}

async function introspect(server, token) {
  const answer = await fetch(`${server.adminUrl}/admin/oauth2/introspect`, { method: 'POST', body: new URLSearchParams({ token }) })
  assert.equal(answer.status, 200)
  return answer.json()
}
