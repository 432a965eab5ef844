// Who signs out while applications are told so in frames (front-channel logout), in headless Chromium.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { startApplication } from '../support/application.js'
import { arrives, openBrowser, press } from '../support/chromium.js'
import { givenPerson, startIdentity, typePassword } from '../support/identity.js'
import { looksRight } from '../support/looks.js'

/** As long as the page waits for its frames, in milliseconds, and somewhat more. */
const PATIENCE = 7000
const SOMEWHAT_MORE = 5000

/** What an application has loaded in a frame at a sign-out: it answers, unless it `isSilent`, and keeps which sessions it was `told` of. */
async function startListener() {
  const server = http.createServer((request, response) => {
    listener.told.push(new URL(request.url, listener.url).searchParams.get('sid'))
    if (!listener.isSilent) response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Out</title>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const listener = {
    isSilent: false,
    told: [],
    url: `http://127.0.0.1:${server.address().port}/out`,
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return listener
}

let service, listener, application, person, browser

/** Signs in to the application, and out; since when the browser is on its way back there, and the session that ended. */
async function signOut(page) {
  const signIn = await application.begin(page)
  // Applications of a session that is not kept hear of its end by the back channel alone.
  await page.getByLabel('Keep me signed in on this device').check()
  await typePassword(page, person)
  const tokens = await signIn.tokens()
  const url = new URL('oauth2/sessions/logout', service.issuer)
  url.search = new URLSearchParams({ id_token_hint: tokens.id_token, post_logout_redirect_uri: `${application.url}/bye` })
  await page.goto(url.href)
  await press(page, 'Sign out')
  return { since: Date.now(), session: tokens.claims().sid }
}

/** Waits until the browser is back at the application. */
function isBack(page, timeout = PATIENCE) {
  return page.waitForURL(`${application.url}/bye**`, { timeout })
}

describe('after a sign-out', () => {
  before(async () => {
    service = await startIdentity()
    listener = await startListener()
    application = await startApplication(service, (origin) => ({
      frontchannel_logout_uri: listener.url,
      frontchannel_logout_session_required: true,
      post_logout_redirect_uris: [`${origin}/bye`],
    }))
    person = await givenPerson(service)
  })
  after(async () => {
    await application?.stop()
    await listener?.stop()
    await service?.stop()
  })
  beforeEach(async () => {
    Object.assign(listener, { isSilent: false, told: [] })
    browser = await openBrowser()
  })
  afterEach(() => browser?.close())

  test('the browser goes on once the applications were told', async () => {
    const { since, session } = await signOut(browser.page)
    await isBack(browser.page)
    assert.deepEqual(listener.told, [session])
    assert.ok(Date.now() - since < PATIENCE, 'it waited for nothing more')
  })

  test('an application that never answers holds nobody up for longer than some seconds', async () => {
    listener.isSilent = true
    const { since, session } = await signOut(browser.page)
    await isBack(browser.page, PATIENCE + SOMEWHAT_MORE)
    assert.deepEqual(listener.told, [session])
    assert.ok(Date.now() - since > PATIENCE - SOMEWHAT_MORE, 'it had some time')
  })

  test('a browser without JavaScript goes on as well', async () => {
    const plain = await openBrowser({ javaScriptEnabled: false })
    await signOut(plain.page)
    await isBack(plain.page)
    await plain.close()
  })

  test('the page in between is for everybody to use', async () => {
    listener.isSilent = true
    await browser.page.route(`${application.url}/bye**`, (route) => route.fulfill({ status: 204 })) // with which a browser stays
    await signOut(browser.page)
    await arrives(browser.page, 'You are signed out')
    await looksRight(browser.page, 'Signed out')
  })
})
