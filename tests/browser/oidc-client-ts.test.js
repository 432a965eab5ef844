// A person who signs in to applications without a server of their own (oidc-client-ts), in headless Chromium: by a redirect, by a
// window, in a frame and by refresh tokens.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press } from '../support/chromium.js'
import { givenPerson, startIdentity, typePassword } from '../support/identity.js'
import { startSinglePage } from '../support/single-page.js'

const KEEP = 'Keep me signed in on this device'

let service, application, other, person, browser, page

/** Begins a sign-in that leaves the page, which was opened. */
async function begin(settings, state) {
  await page.evaluate(([settings, state]) => void manager(settings).signinRedirect({ state }), [settings, state])
}

/** The user, once the browser is back at the application. */
async function user({ url, settings }) {
  await page.waitForURL(`${url}/callback?**`)
  return page.evaluate(async (settings) => summary(await manager(settings).signinCallback()), settings)
}

/** Signs in by a redirect, with a password. The box "Keep me signed in" is as the page has it, unless it `isTicked`. */
async function signIn({ url, settings }, { isTicked = false, state } = {}) {
  await page.goto(url)
  await begin(settings, state)
  await arrives(page, 'Sign in')
  if (isTicked) await page.getByLabel(KEEP).check()
  await typePassword(page, person)
  return user({ url, settings })
}

/** What the library makes of a request that must not ask anybody; where it has a refresh token it takes that. */
function silently({ settings }) {
  return page.evaluate((settings) => manager(settings).signinSilent().then(summary, refused), settings)
}

/** Signs in by a window, in which `work` is done, until it closes by itself. */
async function inWindow({ settings }, work = () => {}) {
  // One that asks nobody is closed at once: who waits for that only when it is known comes too late.
  let closed
  const opened = page.waitForEvent('popup', (popup) => {
    closed = popup.isClosed() || popup.waitForEvent('close')
    return true
  })
  const told = page.evaluate((settings) => manager(settings).signinPopup().then(summary, refused), settings)
  told.catch(() => {}) // a window that stays open is what the test fails for
  const popup = await opened
  await Promise.all([closed, work(popup)])
  return told
}

/** The browser is closed and opened again: it has the cookies that say when they end. */
async function closeAndOpen() {
  const kept = (await browser.context.cookies()).filter((cookie) => cookie.expires !== -1)
  await browser.context.clearCookies()
  await browser.context.addCookies(kept)
}

async function isActive(token) {
  const answer = await fetch(`${service.adminUrl}/admin/oauth2/introspect`, { method: 'POST', body: new URLSearchParams({ token }) })
  return (await answer.json()).active
}

describe('an application with oidc-client-ts', () => {
  before(async () => {
    service = await startIdentity({ env: { SERVE_PUBLIC_CORS_ENABLED: 'true' } })
    application = await startSinglePage(service)
    other = await startSinglePage(service)
    person = await givenPerson(service)
  })
  after(async () => {
    await application?.stop()
    await other?.stop()
    await service?.stop()
  })
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('signs in by a redirect, with what it wanted to know again', async () => {
    const state = { deep: '/x?y=1&z=a b' }
    const signedIn = await signIn(application, { state })
    assert.deepEqual([signedIn.subject, signedIn.email, signedIn.scope], [person.id, person.email, 'openid email'])
    assert.deepEqual(signedIn.state, state)
    assert.equal(await isActive(signedIn.accessToken), true)
    assert.equal(signedIn.refreshToken, undefined)
  })

  test('renews its tokens in a frame for who left the box alone, until the browser is closed', async () => {
    const before = await signIn(application)
    const renewed = await silently(application)
    assert.deepEqual([renewed.error, renewed.subject, renewed.session], [undefined, person.id, before.session])
    assert.notEqual(renewed.accessToken, before.accessToken)
    await page.goto(other.url)
    assert.equal((await silently(other)).subject, person.id, 'another application learns who is there')
    await closeAndOpen()
    assert.equal((await silently(other)).error, 'login_required')
  })

  test('renews them also after the browser was closed for who ticked the box', async () => {
    await signIn(application, { isTicked: true })
    await closeAndOpen()
    assert.equal((await silently(application)).subject, person.id)
    await page.goto(application.url)
    await begin({ ...application.settings, prompt: 'login' })
    await typePassword(page, person)
    await user(application)
    await closeAndOpen()
    assert.equal((await silently(application)).subject, person.id, 'after a sign-in where it was left alone, too')
  })

  test('learns nothing of who signed in elsewhere', async () => {
    await signIn(application)
    const stranger = await openBrowser()
    page = stranger.page
    await page.goto(application.url)
    assert.equal((await silently(application)).error, 'login_required')
    await stranger.close()
  })

  test('signs in by a window, which asks once', async () => {
    await page.goto(application.url)
    const first = await inWindow(application, (popup) => typePassword(popup, person))
    assert.equal(first.subject, person.id)
    const again = await inWindow(application)
    assert.deepEqual([again.error, again.session], [undefined, first.session])
  })

  test('renews by refresh tokens, one after the other and two at once', async () => {
    const settings = { ...application.settings, scope: 'openid offline_access email' }
    let last = await signIn({ ...application, settings })
    for (let round = 0; round < 3; round += 1) {
      const renewed = await silently({ settings })
      assert.equal(renewed.subject, person.id)
      assert.notEqual(renewed.refreshToken, last.refreshToken)
      last = renewed
    }
    const both = await page.evaluate((settings) => Promise.all([1, 2].map(() => manager(settings).signinSilent().then(summary, refused))), settings)
    for (const renewed of both) {
      assert.deepEqual([renewed.error, renewed.subject], [undefined, person.id])
      assert.equal(await isActive(renewed.accessToken), true)
    }
  })

  test('revokes its tokens', async () => {
    const settings = { ...application.settings, scope: 'openid offline_access email' }
    const { accessToken, refreshToken } = await signIn({ ...application, settings })
    await page.evaluate((settings) => manager(settings).revokeTokens(), settings)
    assert.deepEqual([await isActive(accessToken), await isActive(refreshToken)], [false, false])
  })

  test('signs out, with what it wanted to know again', async () => {
    const { accessToken } = await signIn(application)
    await page.evaluate((settings) => void manager(settings).signoutRedirect({ state: 'see you' }), application.settings)
    await press(page, 'Sign out')
    await page.waitForURL(`${application.url}/goodbye?**`)
    const told = await page.evaluate((settings) => manager(settings).signoutCallback(), application.settings)
    assert.equal(told.userState, 'see you')
    assert.equal(await isActive(accessToken), false)
    assert.equal((await silently(application)).error, 'login_required')
  })
})
