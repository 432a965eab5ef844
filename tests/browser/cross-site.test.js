// The login and consent app, the application and the server each on a registrable domain of their own, over TLS.
//
// sso.example.com is the server, login.example.org the login and consent app, app.example.net the application.
// Chromium is told that all three are this machine.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startBrowser, sees } from '../support/chromium.js'
import { removeFolder, serve, temporaryFolder } from '../support/sluice.js'

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0' // every certificate here signs itself
process.removeAllListeners('warning')

const BROWSER = {
  flags: [
    '--host-resolver-rules=MAP sso.example.com 127.0.0.1, MAP login.example.org 127.0.0.1, MAP app.example.net 127.0.0.1',
    '--ignore-certificate-errors',
  ],
  ignoreHTTPSErrors: true,
  thirdPartyCookies: true,
}

/** One web server with a certificate of its own that plays the login and consent app and the application. */
async function startSites() {
  const folder = temporaryFolder('cross-site')
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name))
  const names = 'subjectAltName=DNS:login.example.org,DNS:app.example.net'
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=tests']
  execFileSync('openssl', [...made, '-addext', names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const sites = { adminUrl: undefined }
  const server = https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) }, (request, response) => {
    const site = request.headers.host.startsWith('login.') ? loginApp : application
    site(sites, request, response).catch((error) => response.writeHead(500).end(String(error)))
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address()
  Object.assign(sites, { port, login: `https://login.example.org:${port}`, application: `https://app.example.net:${port}` })
  sites.stop = async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
    removeFolder(folder)
  }
  return sites
}

/** Shows a button unless the user is known, then accepts through the admin API and redirects back. */
async function loginApp(sites, request, response) {
  const url = new URL(request.url, sites.login)
  const kind = ['login', 'consent', 'logout'].find((each) => url.searchParams.has(`${each}_challenge`))
  if (url.pathname === '/welcome') return page(response, '<p>welcome</p>')
  if (!kind) return response.writeHead(404).end('nothing here')
  const query = `?${kind}_challenge=${encodeURIComponent(url.searchParams.get(`${kind}_challenge`))}`
  const at = `${sites.adminUrl}/admin/oauth2/auth/requests/${kind}`
  const asked = await (await fetch(at + query)).json()
  if (kind === 'login' && !asked.skip && request.method === 'GET') {
    return page(response, '<form method="post"><button>Log in as alice</button></form>')
  }
  const remember = { remember: true, remember_for: 3600 }
  const body = {
    login: { subject: asked.skip ? asked.subject : 'alice', ...remember },
    consent: { grant_scope: asked.requested_scope, ...remember },
    logout: undefined,
  }[kind]
  const headers = { 'content-type': 'application/json' }
  const accepted = await fetch(`${at}/accept${query}`, { method: 'PUT', headers, body: JSON.stringify(body) })
  response.writeHead(303, { location: (await accepted.json()).redirect_to }).end()
}

/**
 * `/callback` shows what it was told, `/callback-and-on` redirects to another site; `/silent?to=` asks in a frame and shows
 * what the frame was told.
 */
async function application(sites, request, response) {
  const url = new URL(request.url, sites.application)
  if (url.pathname === '/callback') return page(response, `<p>told: ${[...url.searchParams.keys()].join(' ')} ${url.searchParams.get('error') ?? ''}</p>`)
  if (url.pathname === '/callback-and-on') return response.writeHead(302, { location: `${sites.login}/welcome` }).end()
  if (url.pathname === '/silent') return page(response, `<iframe src="${url.searchParams.get('to').replaceAll('&', '&amp;')}"></iframe>`)
  page(response, '<p>application</p>')
}

function page(response, body) {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html><title>test</title>${body}`)
}

/** Server, sites and one registered client, with this SameSite mode for the session cookie; the pages may be the built-in ones. */
async function startAll(sameSite, { builtInPages = false } = {}) {
  const sites = await startSites()
  const pages = {
    URLS_LOGIN: `${sites.login}/login`,
    URLS_CONSENT: `${sites.login}/consent`,
    URLS_LOGOUT: `${sites.login}/logout`,
  }
  const server = await serve({
    issuer: (port) => `https://sso.example.com:${port}/`,
    args: ['--tls-self-signed'],
    env: { ...(builtInPages ? {} : pages), SERVE_COOKIES_SAME_SITE_MODE: sameSite },
  })
  sites.adminUrl = server.adminUrl
  const created = await fetch(`${server.adminUrl}/admin/clients`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'cross-site',
      redirect_uris: ['callback', 'callback-and-on'].map((name) => `${sites.application}/${name}`),
      scope: 'openid',
      token_endpoint_auth_method: 'none',
    }),
  })
  assert.equal(created.status, 201, await created.clone().text())
  const { client_id: clientId } = await created.json()
  return { sites, server, clientId }
}

function authorizationUrl({ sites, server, clientId }, parameters = {}) {
  const url = new URL('oauth2/auth', server.issuer)
  url.search = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    scope: 'openid',
    redirect_uri: `${sites.application}/callback`,
    state: 'a-state-of-enough-length',
    nonce: 'a-nonce-of-enough-length',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    ...parameters,
  })
  return url.href
}

/** A sign-in at the top level that begins on the application's own page. */
async function signIn(all, tab) {
  await tab.goto(`${all.sites.application}/`)
  await tab.evaluate((to) => window.location.assign(to), authorizationUrl(all))
  await tab.getByRole('button', { name: 'Log in as alice' }).click()
  await sees(tab, /told: .*code/)
}

async function silently(all, tab) {
  const to = authorizationUrl(all, { prompt: 'none' })
  await tab.goto(`${all.sites.application}/silent?to=${encodeURIComponent(to)}`)
  const told = tab.frameLocator('iframe').getByText(/told:/)
  await told.waitFor()
  return told.innerText()
}

for (const [sameSite, answer] of [['Lax', 'login_required'], ['None', 'code']]) {
  describe(`login on another site, session cookie SameSite=${sameSite}`, () => {
    let all, browser
    before(async () => {
      all = await startAll(sameSite)
      browser = await startBrowser(BROWSER)
    })
    after(async () => {
      await browser?.close()
      await all?.server.stop()
      await all?.sites.stop()
    })

    test('prompt=none in a frame tells a stranger to log in', async () => {
      assert.match(await silently(all, browser.page), /error.*login_required/)
    })

    test('a person signs in across three sites, and again without a question', async () => {
      await signIn(all, browser.page)
      await browser.page.goto(authorizationUrl(all))
      await sees(browser.page, /told: .*code/)
    })

    test(`prompt=none in a frame of the application is answered with ${answer}`, async () => {
      assert.match(await silently(all, browser.page), new RegExp(`\\b${answer}\\b`))
    })

    test('cookies are Secure, HttpOnly and bound to the host', async () => {
      const cookies = (await browser.context.cookies()).filter((cookie) => cookie.domain.endsWith('sso.example.com'))
      assert.ok(cookies.length >= 1)
      for (const cookie of cookies) {
        assert.ok(cookie.secure && cookie.httpOnly, cookie.name)
        assert.ok(cookie.name.startsWith('__Host-'), cookie.name)
        assert.equal(cookie.domain, 'sso.example.com')
      }
    })

    test('two tabs, each with a login of its own, both get in', async () => {
      const fresh = await startBrowser(BROWSER)
      try {
        const tabs = [fresh.page, await fresh.context.newPage()]
        for (const tab of tabs) {
          await tab.goto(authorizationUrl(all))
          await tab.getByRole('button', { name: 'Log in as alice' }).waitFor()
        }
        for (const tab of tabs.reverse()) {
          await tab.bringToFront()
          await tab.getByRole('button', { name: 'Log in as alice' }).click()
          await sees(tab, /told: .*code/)
        }
      } finally {
        await fresh.close()
      }
    })
  })
}

// Chromium holds the form's policy against every redirect that follows it, those of the application too.
test('a form of the built-in pages leads to an application that redirects to yet another site', async () => {
  const all = await startAll('Lax', { builtInPages: true })
  const browser = await startBrowser(BROWSER)
  try {
    const { page: tab } = browser
    await tab.goto(authorizationUrl(all, { redirect_uri: `${all.sites.application}/callback-and-on`, prompt: 'create' }))
    await tab.fill('input[name=email]', 'alice@example.com')
    await tab.fill('input[name=password]', 'correct horse battery staple')
    await tab.keyboard.press('Enter')
    await tab.click('button[name=decision][value=accept]')
    await sees(tab, 'welcome')
  } finally {
    await browser.close()
    await all.server.stop()
    await all.sites.stop()
  }
})
