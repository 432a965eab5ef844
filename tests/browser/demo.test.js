// A person in front of `sluice demo`, in headless Chromium: the built-in pages and the example application.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openBrowser, press, sees } from '../support/chromium.js'
import { demo } from '../support/sluice.js'

const PASSWORD = 'correct horse battery staple'
const ACCEPT = 'button[name=decision][value=accept]'
const REJECT = 'button[name=decision][value=reject]'
const SIGN_IN = /^sign in/i
const SIGN_IN_ANYWHERE = /sign in/i
const REGISTER = /register|create (an )?account|sign up/i

let server, browser, page

function newEmail() {
  return `${randomUUID()}@example.com`
}

async function openLogin(on = page) {
  await on.goto(server.url)
  await press(on, SIGN_IN)
  await on.waitForSelector('input[name=password]')
}

async function fillIn(email, password = PASSWORD, on = page) {
  await on.fill('input[name=email]', email)
  await on.fill('input[name=password]', password)
}

/** Submits the form that holds the password. */
async function submit(on = page) {
  await on.locator('form:has(input[name=password]) button[type=submit]').first().click()
}

async function register(email, on = page) {
  await openLogin(on)
  await press(on, REGISTER)
  await on.waitForURL(/registration|register/)
  await fillIn(email, PASSWORD, on)
  await submit(on)
}

async function logIn(email, { password = PASSWORD, remember = false, on = page } = {}) {
  await fillIn(email, password, on)
  if (remember) await on.check('input[name=remember]')
  await submit(on)
}

async function consent(on = page) {
  await on.waitForSelector('input[name=grant_scope]', { state: 'attached' })
  await on.click(ACCEPT)
}

/** A decision may be remembered: then the tokens come at once. */
async function consentIfAsked(on = page) {
  await on.locator(ACCEPT).or(on.getByText(/refresh tokens/i)).first().waitFor()
  if (await on.locator(ACCEPT).isVisible()) await consent(on)
}

/** The application's page with the decoded tokens; gives its text. */
async function seesTokens(on = page) {
  await on.waitForURL((url) => url.href.startsWith(server.url))
  const text = await sees(on, /refresh tokens/i)
  for (const claim of [/id token/i, /\biss\b/, /\bsub\b/, /\bexp\b/]) assert.match(text, claim)
  assert.ok(text.includes(server.issuer), 'the issuer is among the claims')
  return text
}

async function signOut(on = page) {
  await press(on, /^sign out/i)
  const confirm = on.locator(ACCEPT)
  await confirm.or(on.getByRole('link', { name: SIGN_IN })).or(on.getByRole('button', { name: SIGN_IN })).first().waitFor()
  if (await confirm.isVisible()) await confirm.click()
  await on.waitForURL((url) => url.href.startsWith(server.url))
}

async function isSignedOut(on = page) {
  const text = await sees(on, SIGN_IN_ANYWHERE)
  assert.doesNotMatch(text, /refresh tokens/i)
}

/** A page that tells a person what happened and where to go: not blank, not JSON, not a stack trace. */
async function isAPageWithAWayOut(on = page) {
  assert.ok((await on.locator('h1').count()) > 0, 'the page has a heading')
  const ways = on.locator('a[href], form button')
  assert.ok((await ways.count()) > 0, 'the page has a link or a button')
}

async function withBrowser(options, walk) {
  const own = await openBrowser(options)
  try {
    await walk(own.page, own.context)
  } finally {
    await own.close()
  }
}

describe('the demo', () => {
  before(async () => {
    server = await demo()
  })
  after(() => server?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('registration, consent, tokens, refresh, sign out', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    const before = await seesTokens()
    await sleep(1100) // the claims of a refreshed token differ by the second
    await press(page, /refresh tokens/i)
    await page.waitForFunction((old) => document.body.innerText !== old && /refresh tokens/i.test(document.body.innerText), before)
    await seesTokens()
    await signOut()
    await isSignedOut()
  })

  test('a registered person logs in from another browser', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await withBrowser({}, async (other) => {
      await openLogin(other)
      await logIn(email, { on: other })
      await consentIfAsked(other)
      await seesTokens(other)
    })
  })

  test('a person who is remembered is not asked for the password again, until they sign out', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await signOut()
    await page.goto(server.url)
    const signInUrl = await page.getByRole('link', { name: SIGN_IN }).first().evaluate((link) => link.href)
    await openLogin()
    await logIn(email, { remember: true })
    await consentIfAsked()
    await seesTokens()

    await page.goto(signInUrl)
    await page.locator(ACCEPT).or(page.getByText(/refresh tokens/i)).first().waitFor()
    assert.equal(await page.locator('input[name=password]').count(), 0)
    await consentIfAsked()
    await seesTokens()

    await signOut()
    await openLogin()
  })

  test('a wrong password says so, and the right one still works', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await signOut()
    await openLogin()
    for (const [who, password] of [[email, 'not the password'], [newEmail(), PASSWORD]]) {
      await logIn(who, { password })
      const alert = page.getByRole('alert').first()
      await alert.waitFor()
      assert.match(await alert.innerText(), /password|e-?mail/i)
      assert.equal(await page.inputValue('input[name=password]'), '')
    }
    await logIn(email)
    await consentIfAsked()
    await seesTokens()
  })

  test('a taken address and a weak password are refused with a sentence', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await withBrowser({}, async (other) => {
      await register(email, other)
      await other.getByRole('alert').first().waitFor()
      await fillIn(newEmail(), 'a', other)
      // A browser may hold the form back itself: the server must refuse on its own.
      await other.evaluate(() => document.querySelectorAll('form').forEach((form) => (form.noValidate = true)))
      await submit(other)
      await other.getByRole('alert').first().waitFor()
      assert.ok(await other.locator('input[name=password]').isVisible())
    })
  })

  test('consent refused comes back to the application as such', async () => {
    await register(newEmail())
    await page.waitForSelector('input[name=grant_scope]', { state: 'attached' })
    await page.click(REJECT)
    await page.waitForURL((url) => url.href.startsWith(server.url))
    await sees(page, /access.denied|refused|declined|denied/i)
    await page.goto(server.url)
    await isSignedOut()
  })

  test('two tabs at once both get in', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await signOut()
    const second = await browser.context.newPage()
    await openLogin(page)
    await openLogin(second)
    for (const tab of [second, page]) {
      await tab.bringToFront()
      await logIn(email, { on: tab })
      await consentIfAsked(tab)
      await seesTokens(tab)
    }
  })

  test('six tabs that began together all get in, one after the other', async () => {
    const email = newEmail()
    await register(email)
    await consent()
    await seesTokens()
    await signOut()
    const tabs = [page]
    while (tabs.length < 6) tabs.push(await browser.context.newPage())
    for (const tab of tabs) await openLogin(tab)
    for (const tab of tabs) {
      await tab.bringToFront()
      await logIn(email, { on: tab })
      await consentIfAsked(tab)
      await seesTokens(tab)
    }
  })

  test('tabs that begin at once in a browser without cookies all get to a form', async () => {
    await page.goto(server.url)
    const url = await page.getByRole('link', { name: SIGN_IN }).first().evaluate((link) => link.href)
    await browser.context.clearCookies()
    const tabs = await Promise.all([1, 2, 3, 4, 5].map(() => browser.context.newPage()))
    await Promise.all(tabs.map((tab) => tab.goto(url)))
    for (const tab of tabs) await tab.waitForSelector('input[name=password]')
    // The cookie that a tab was given is not there any more when it comes with its challenge.
    await browser.context.clearCookies()
    await openLogin()
    const [late] = tabs
    const challenge = () => new URL(late.url()).searchParams.get('login_challenge')
    const before = challenge()
    await late.reload()
    await late.waitForSelector('input[name=password]')
    assert.notEqual(challenge(), before)
  })

  test('back from consent to login, and forward again with the same page', async () => {
    const email = newEmail()
    await register(email)
    await page.waitForSelector(ACCEPT)
    await page.goBack()
    await page.waitForSelector('input[name=password]')
    if (/registration|register/.test(page.url())) {
      await page.goBack()
      await page.waitForSelector('input[name=password]')
    }
    await logIn(email)
    await consent()
    await seesTokens()
  })

  test('back after the end: the used consent page is refused with a way out', async () => {
    await register(newEmail())
    await consent()
    await seesTokens()
    await page.goBack()
    await page.getByText('was already used').waitFor()
    assert.equal(await page.locator(ACCEPT).count(), 0, 'nothing is to be decided any more')
    await isAPageWithAWayOut()
    await page.goto(server.url)
    await seesTokens()
  })

  test('signing out can be declined', async () => {
    await register(newEmail())
    await consent()
    await seesTokens()
    await press(page, /^sign out/i)
    await page.locator(REJECT).or(page.getByText(SIGN_IN)).first().waitFor()
    if (await page.locator(REJECT).isVisible()) {
      await page.click(REJECT)
      await page.waitForLoadState()
      await isAPageWithAWayOut()
    }
  })

  test('everything works by keyboard alone', async () => {
    await openLogin()
    await press(page, REGISTER)
    await page.waitForURL(/registration|register/)
    await page.focus('input[name=email]')
    await page.keyboard.type(newEmail())
    await page.keyboard.press('Tab')
    await page.waitForFunction(() => document.activeElement.name === 'username')
    await page.keyboard.type('Alice Liddell')
    await page.keyboard.press('Tab')
    await page.waitForFunction(() => document.activeElement.name === 'password')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.waitForSelector(ACCEPT)
    for (let presses = 0; presses < 20; presses += 1) {
      await page.keyboard.press('Tab')
      if (await page.evaluate((accept) => document.activeElement.matches(accept), ACCEPT)) break
    }
    await page.keyboard.press('Enter')
    await seesTokens()
    await signOut()
    await openLogin()
    await page.focus('input[name=email]')
    await page.keyboard.press('Tab')
    await page.waitForFunction(() => document.activeElement.name === 'password')
  })

  test('everything works without JavaScript', async () => {
    await withBrowser({ javaScriptEnabled: false }, async (plain) => {
      await register(newEmail(), plain)
      await consent(plain)
      await seesTokens(plain)
      await signOut(plain)
      await isSignedOut(plain)
    })
  })

  test('pages name their fields, fit a phone, and carry strict headers', async () => {
    await withBrowser({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' }, async (phone) => {
      const violations = []
      phone.on('console', (message) => /content security policy/i.test(message.text()) && violations.push(message.text()))
      const answer = phone.waitForResponse((response) => response.url().includes('login_challenge') && response.status() === 200)
      await openLogin(phone)
      const headers = (await answer).headers()
      assert.match(headers['content-security-policy'], /frame-ancestors 'none'/)
      assert.match(headers['content-security-policy'], /default-src 'none'|default-src 'self'/)
      assert.doesNotMatch(headers['content-security-policy'], /script-src[^;]*'unsafe-inline'/)
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.match(headers['cache-control'], /no-store/)
      assert.ok(await phone.evaluate(() => document.documentElement.lang))
      const unnamed = await phone.evaluate(() =>
        [...document.querySelectorAll('input:not([type=hidden])')].filter((input) => !input.labels?.length && !input.ariaLabel).map((input) => input.name),
      )
      assert.deepEqual(unnamed, [])
      const overflow = await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`)
      assert.equal(await phone.getAttribute('input[name=password]', 'autocomplete'), 'current-password')
      assert.deepEqual(violations, [])
    })
  })
})

describe('the demo with flows of eight seconds', () => {
  before(async () => {
    server = await demo({ env: { TTL_LOGIN_CONSENT_REQUEST: '8s' } })
  })
  after(() => server?.stop())

  test('a login that took too long says so and begins again', async () => {
    await withBrowser({}, async (late) => {
      await openLogin(late)
      await fillIn(newEmail(), PASSWORD, late)
      await sleep(8600)
      await submit(late)
      await sees(late, /expired|too long|start again|sign in again|try again/i)
      await isAPageWithAWayOut(late)
      await late.locator('main a[href], main form button').first().click()
      await late.waitForLoadState()
      await sees(late, /sign in|start/i)
    })
  })
})
