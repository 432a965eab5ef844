// A person who connects a device (RFC 8628), in headless Chromium: the built-in pages from the code to the tokens.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { openBrowser, press, sees } from '../support/chromium.js'
import { serve } from '../support/sluice.js'

const PASSWORD = 'correct horse battery staple'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'
const ACCEPT = 'button[name=decision][value=accept]'
const REJECT = 'button[name=decision][value=reject]'
const CODE = 'input[name=user_code][type=text]'

let server, client, browser, page

async function post(path, form) {
  const answer = await fetch(new URL(path, server.issuer), { method: 'POST', body: new URLSearchParams({ client_id: client, ...form }) })
  return answer.json()
}

/** What the device is given. */
async function begin() {
  const given = await post('oauth2/device/auth', { scope: 'openid offline_access' })
  assert.ok(given.user_code, JSON.stringify(given))
  return given
}

function poll(given) {
  return post('oauth2/token', { grant_type: GRANT_TYPE, device_code: given.device_code })
}

async function register(on = page) {
  await press(on, /create an account/i)
  await on.waitForURL(/registration/)
  await on.fill('input[name=email]', `${randomUUID()}@example.com`)
  await on.fill('input[name=password]', PASSWORD)
  await on.locator('form:has(input[name=password]) button[type=submit]').first().click()
}

async function consent(on = page) {
  await on.waitForSelector('input[name=grant_scope]', { state: 'attached' })
  await on.click(ACCEPT)
}

async function connected(given, on = page) {
  await sees(on, 'Your device is connected')
  const tokens = await poll(given)
  assert.ok(tokens.access_token && tokens.id_token && tokens.refresh_token, JSON.stringify(tokens))
}

async function withBrowser(options, walk) {
  const own = await openBrowser(options)
  try {
    await walk(own.page)
  } finally {
    await own.close()
  }
}

describe('a device', () => {
  before(async () => {
    server = await serve()
    const answer = await fetch(`${server.adminUrl}/admin/clients`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Living room',
        grant_types: [GRANT_TYPE, 'refresh_token'],
        scope: 'openid offline_access',
        token_endpoint_auth_method: 'none',
      }),
    })
    client = (await answer.json()).client_id
  })
  after(() => server?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('is connected by a person who types its code in small letters', async () => {
    const given = await begin()
    await page.goto(given.verification_uri)
    await page.fill(CODE, given.user_code.toLowerCase().replace('-', ''))
    await page.keyboard.press('Enter')
    await sees(page, 'Living room')
    await register()
    assert.equal((await poll(given)).error, 'authorization_pending')
    await consent()
    await connected(given)
  })

  test('is connected by a person who scans its code, after both have been compared', async () => {
    const given = await begin()
    await page.goto(given.verification_uri_complete)
    const shown = await sees(page, 'Is this your device?')
    assert.ok(shown.includes('Living room') && shown.includes(given.user_code), shown)
    await page.click(ACCEPT)
    await register()
    await consent()
    await connected(given)
  })

  test('is refused by a person to whom somebody else sent the code', async () => {
    const given = await begin()
    await page.goto(given.verification_uri_complete)
    await page.click(REJECT)
    await sees(page, 'Your device is not connected')
    assert.equal((await poll(given)).error, 'access_denied')
  })

  test('is told of a person who does not consent', async () => {
    const given = await begin()
    await page.goto(given.verification_uri_complete)
    await page.click(ACCEPT)
    await register()
    await page.waitForSelector('input[name=grant_scope]', { state: 'attached' })
    await page.click(REJECT)
    await sees(page, 'Your device is not connected')
    assert.equal((await poll(given)).error, 'access_denied')
  })

  test('has a code that may be mistyped', async () => {
    const given = await begin()
    await page.goto(given.verification_uri)
    await page.fill(CODE, 'AAAA-AAAA')
    await press(page, /continue/i)
    const alert = page.getByRole('alert').first()
    await alert.waitFor()
    assert.match(await alert.innerText(), /not right/)
    assert.equal(await page.inputValue(CODE), 'AAAA-AAAA')
    await page.fill(CODE, given.user_code)
    await press(page, /continue/i)
    await register()
    await consent()
    await connected(given)
  })

  test('is connected without JavaScript', async () => {
    await withBrowser({ javaScriptEnabled: false }, async (plain) => {
      const given = await begin()
      await plain.goto(given.verification_uri_complete)
      await plain.click(ACCEPT)
      await register(plain)
      await consent(plain)
      await connected(given, plain)
    })
  })

  test('has pages that name their fields, fit a phone, and carry strict headers', async () => {
    await withBrowser({ viewport: { width: 360, height: 640 }, colorScheme: 'dark' }, async (phone) => {
      const violations = []
      phone.on('console', (message) => /content security policy/i.test(message.text()) && violations.push(message.text()))
      const given = await begin()
      for (const address of [given.verification_uri, given.verification_uri_complete]) {
        const headers = (await phone.goto(address)).headers()
        assert.match(headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/)
        assert.equal(headers['x-frame-options'], 'DENY')
        assert.equal(headers['referrer-policy'], 'no-referrer')
        assert.match(headers['cache-control'], /no-store/)
        const unnamed = await phone.evaluate(() =>
          [...document.querySelectorAll('input:not([type=hidden])')].filter((input) => !input.labels?.length).map((input) => input.name),
        )
        assert.deepEqual(unnamed, [])
        const overflow = await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        assert.ok(overflow <= 0, `the page is ${overflow} pixels too wide`)
      }
      await phone.click(ACCEPT)
      await register(phone)
      await consent(phone)
      await connected(given, phone)
      assert.deepEqual(violations, [])
    })
  })
})
