// Everybody must have a second factor, and who has none sets one up on the way in, in headless Chromium.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press, sees } from '../support/chromium.js'
import { authenticatorApp, givenPerson, newEmail, PASSWORD, recoveryCodes, startIdentity, typePassword, virtualAuthenticator } from '../support/identity.js'

const SET_UP = 'Set up a second factor'

let service, browser, page

async function typeCode(code) {
  await page.getByLabel('Code', { exact: true }).fill(code)
  await press(page, 'Continue')
}

/** Sets up the app that the page shows; gives it. */
async function setUpApp() {
  await arrives(page, SET_UP)
  const app = authenticatorApp(await page.locator('.exhibit-secret').innerText())
  await typeCode(app.code())
  assert.equal(new Set(await recoveryCodes(page)).size, 10)
  return app
}

describe('a second factor that is required', () => {
  before(async () => {
    service = await startIdentity({ env: { IDENTITY_FACTORS_REQUIRED: 'always' } })
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('is set up between the password and the application', async () => {
    const person = await givenPerson(service)
    const signIn = await service.application.begin(page)
    await typePassword(page, person)
    await arrives(page, SET_UP)
    const secret = page.locator('.exhibit-secret')
    const shown = await secret.innerText()
    await typeCode('000000')
    await page.getByRole('alert').getByText('This is not the code that your app should show.').waitFor()
    assert.equal(await secret.isVisible(), false, 'it is folded away')
    await page.getByText('Show the code again').click()
    assert.equal(await secret.innerText(), shown)
    const app = authenticatorApp(shown)
    await typeCode(app.code())
    assert.equal(new Set(await recoveryCodes(page)).size, 10)
    await press(page, 'I have kept them')
    const claims = (await signIn.tokens()).claims()
    assert.equal(claims.sub, person.id)
    assert.deepEqual([claims.acr, [...claims.amr].sort()], ['aal2', ['mfa', 'otp', 'pwd']])

    await browser.context.clearCookies()
    const next = await service.application.begin(page)
    await typePassword(page, person)
    await arrives(page, 'Confirm that it is you')
    await typeCode(app.code())
    assert.equal((await next.tokens()).claims().acr, 'aal2')
  })

  test('is a passkey for who wants one', async () => {
    const person = await givenPerson(service)
    const authenticator = await virtualAuthenticator(page)
    const signIn = await service.application.begin(page)
    await typePassword(page, person)
    await arrives(page, SET_UP)
    await press(page, 'Create a passkey')
    assert.equal((await recoveryCodes(page)).length, 10)
    assert.equal((await authenticator.passkeys()).length, 1)
    await press(page, 'I have kept them')
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
  })

  test('follows a registration, once the mail has come', async () => {
    const email = newEmail()
    const signIn = await service.application.begin(page)
    await press(page, 'Create an account')
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.locator('form:has(input[name=password]) button[type=submit]').first().click()
    await arrives(page, 'Verify your email address first')
    const { code } = await service.mailbox.take(email, /^Confirm your email address for/)
    await page.getByLabel('Code', { exact: true }).fill(code)
    await press(page, 'Confirm')
    await setUpApp()
    await press(page, 'I have kept them')
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
  })

  test('keeps the account shut until it is there, and is not removed', async () => {
    const person = await givenPerson(service)
    await page.goto(service.account('/factors'))
    await typePassword(page, person)
    await arrives(page, SET_UP)
    await page.goto(service.account('/factors'))
    await arrives(page, 'Sign in to your account')
    await typePassword(page, person)
    await setUpApp()
    await press(page, 'I have kept them')
    await arrives(page, 'Second factors')
    await page.getByText('Change Authenticator app').click()
    await press(page, 'Remove Authenticator app')
    await page.getByRole('alert').getByText('You must have a second factor here').waitFor()
    await sees(page, 'You have 10 left')
  })
})
