// Every page of the identity service as people see and hear it, in headless Chromium.
//
// PICTURES names a folder for pictures of the pages.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press } from '../support/chromium.js'
import { OTHER_PASSWORD, PASSWORD, authenticatorApp, enrolApp, givenPerson, newEmail, openAccount, recoveryCodes, startIdentity, typePassword, virtualAuthenticator } from '../support/identity.js'
import { looksRight } from '../support/looks.js'
import { temporaryFolder } from '../support/sluice.js'

/** As long as names and addresses get. */
const LONG_NAME = 'Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewissenha'.slice(0, 64)
const longEmail = () => `a.rather.long.address.${newEmail()}`

let service, browser, page, violations

function hooks(env) {
  before(async () => {
    service = await startIdentity({ env })
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
    violations = []
    page.on('console', (message) => /content security policy/i.test(message.text()) && violations.push(message.text()))
    page.on('pageerror', (error) => violations.push(String(error)))
  })
  afterEach(async () => {
    await browser?.close()
    assert.deepEqual(violations, [])
  })
}

/** The page with this heading looks right. */
async function at(heading, name = heading) {
  await arrives(page, heading)
  await looksRight(page, name)
}

async function unchecked() {
  await page.locator('main form').last().evaluate((form) => (form.noValidate = true))
}

async function open(path) {
  await page.goto(service.account(path))
}

async function send(fields, button) {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value)
  await press(page, button)
}

async function refused() {
  await page.getByRole('alert').first().waitFor()
}

describe('for everybody to use', () => {
  hooks({ IDENTITY_PROOF_OF_WORK_REGISTRATION_BITS: '4' })

  test('the pages for signing in', async () => {
    const person = await givenPerson(service, { email: longEmail(), username: LONG_NAME })
    await service.application.begin(page)
    await at('Sign in')
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    await refused()
    await at('Sign in', 'Sign in, refused')
    await typePassword(page, person)
    await at(/wants access to your account/, 'Consent')
    await service.application.begin(page, { acr_values: 'aal2' })
    await typePassword(page, person)
    await at('A second factor is needed')
    await openAccount(service, page, person)
    const { app } = await enrolApp(service, page)
    await browser.context.clearCookies()
    await service.application.begin(page)
    await typePassword(page, person)
    await at('Confirm that it is you', 'Second factor')
    await send({ Code: '000000' }, 'Continue')
    await refused()
    await page.getByText('Use a recovery code').click()
    await at('Confirm that it is you', 'Second factor, refused')
    await send({ Code: app.code() }, 'Continue')
    await arrives(page, /wants access/)
  })

  test('the pages for registering', async () => {
    await service.application.begin(page)
    await press(page, 'Create an account')
    await at('Create your account')
    await unchecked()
    await send({ 'Email address': 'alice@', Password: 'short' }, 'Create account')
    await refused()
    await at('Create your account', 'Create your account, refused')
    const email = longEmail()
    await send({ 'Email address': email, Password: PASSWORD }, 'Create account')
    await arrives(page, /wants access/)
    const { link } = await service.mailbox.take(email, /^Confirm/)
    await page.goto(new URL('ui/verification', service.issuer).href)
    await at('Confirm your email address', 'Verification by code')
    await send({ 'Email address': email, Code: 'AAAA-AAAA' }, 'Confirm address')
    await refused()
    await at('Confirm your email address', 'Verification by code, refused')
    await page.goto(link)
    await at('Confirm your email address', 'Verification by link')
    await press(page, 'Confirm address')
    await at('Your address is confirmed')
  })

  test('the pages for who forgot the password', async () => {
    const { email } = await givenPerson(service, { email: longEmail() })
    await service.application.begin(page)
    await press(page, 'Forgot your password?')
    await at('Forgot your password?')
    await send({ 'Email address': email }, 'Send mail')
    await at('Check your mail')
    await page.goto(new URL('ui/recovery/code', service.issuer).href)
    await at('Check your mail', 'Check your mail, of an address that is not known')
    await send({ 'Email address': email, Code: 'AAAA-AAAA' }, 'Continue')
    await refused()
    await at('Check your mail', 'Check your mail, refused')
    await send({ Code: (await service.mailbox.take(email, /^Set a new password/)).code }, 'Continue')
    await at('Set a new password')
    await unchecked()
    await send({ Password: 'short' }, 'Set password')
    await refused()
    await at('Set a new password', 'Set a new password, refused')
    await send({ Password: PASSWORD }, 'Set password')
    await at('Your password is set')
  })

  test('the pages of the account', async () => {
    const person = await givenPerson(service, { email: longEmail(), username: LONG_NAME, verified: false })
    await open('')
    await at('Sign in to your account')
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    await refused()
    await at('Sign in to your account', 'Sign in to your account, refused')
    await typePassword(page, person)
    await at('Your account')
    await open('/factors/totp')
    await at('Verify your email address first')
    await press(page, 'Send verification mail')
    await at('Look into your mailbox')
    await send({ Code: (await service.mailbox.take(person.email, /^Confirm/)).code }, 'Confirm')
    await page.getByRole('status').waitFor()
    await at('Your account', 'Your account, with a notice')
    await open('/username')
    await at('What should we call you?')
    await open('/email')
    await at('Change your email address')
    await open('/password')
    await send({ 'Your password': OTHER_PASSWORD, 'New password': OTHER_PASSWORD }, 'Save password')
    await refused()
    await at('Change your password')
    await open('/delete')
    await at('Delete your account')
    await send({ 'Email address of this account': person.email, 'Your password': PASSWORD }, 'Delete for good')
    await at('Your account is deleted')
  })

  test('the pages for second factors', async () => {
    await virtualAuthenticator(page)
    await openAccount(service, page, await givenPerson(service, { email: longEmail(), username: LONG_NAME }))
    await open('/factors')
    await at('Second factors', 'Second factors, none')
    await open('/factors/totp')
    await at('Add an authenticator app')
    const app = authenticatorApp(await page.locator('.exhibit-secret').innerText())
    await send({ Code: '000000' }, 'Add')
    await refused()
    await at('Add an authenticator app', 'Add an authenticator app, refused')
    await send({ Code: app.code(), Name: LONG_NAME }, 'Add')
    await recoveryCodes(page)
    await at('Your recovery codes')
    await open('/factors/passkey')
    await at('Add a passkey')
    await send({ Name: 'This laptop' }, 'Create a passkey')
    await page.getByRole('status').waitFor()
    await page.getByText('Change This laptop').click()
    await at('Second factors')
    await press(page, 'Remove This laptop')
    await at('Remove this passkey?')
    await press(page, 'Keep it')
    await press(page, 'Make new codes')
    await at('Make new recovery codes?')
    await open('/confirm?then=factors')
    await at('Confirm that it is you', 'Once more')
  })

  test('the pages that list what is signed in', async () => {
    const person = await givenPerson(service, { username: LONG_NAME })
    await openAccount(service, page, person)
    await open('/applications')
    await at('Applications', 'Applications, none')
    const signIn = await service.application.begin(page)
    await page.getByLabel('Keep me signed in on this device').check()
    await typePassword(page, person)
    await signIn.tokens()
    const other = await openBrowser({ userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Safari/604.1' })
    await openAccount(service, other.page, person)
    await other.close()
    await open('/applications')
    await at('Applications')
    await open('/sessions')
    await at('Devices')
    await press(page, 'Sign out everywhere')
    await at('Sign out everywhere?')
  })

  test('the menu of the account, where the browser forces colours', async () => {
    await openAccount(service, page, await givenPerson(service))
    await page.emulateMedia({ forcedColors: 'active' })
    const lines = await page.locator('.account-menu a').evaluateAll((links) => links.map((link) => getComputedStyle(link).borderBottomColor))
    const [here, ...others] = lines
    assert.equal(new Set(others).size, 1, lines.join(' '))
    assert.notEqual(here, others[0])
  })

  test('the pages of what went wrong', async () => {
    await page.goto(new URL('ui/login?login_challenge=nonsense', service.issuer).href)
    await arrives(page, /./)
    await looksRight(page, 'A flow that is none')
    await page.goto(new URL('oauth2/auth?client_id=nobody&response_type=code', service.issuer).href)
    await arrives(page, /./)
    await looksRight(page, 'An application that nobody knows')
  })
})

describe('where taken addresses are concealed, for everybody to use', () => {
  hooks({ IDENTITY_REGISTRATION_CONCEAL_TAKEN: 'true' })

  test('the page that says to look into the mail', async () => {
    await service.application.begin(page)
    await press(page, 'Create an account')
    await typePassword(page, { email: longEmail() })
    await at('Check your mail', 'Check your mail, concealed')
  })
})

describe('where nobody may register, for everybody to use', () => {
  hooks({ IDENTITY_REGISTRATION_ENABLED: 'false' })

  test('the login page without that link, and the page that says so', async () => {
    await service.application.begin(page)
    await arrives(page, 'Sign in')
    const url = page.url()
    await looksRight(page, 'Sign in, registration closed')
    await page.goto(url.replace('/ui/login', '/ui/registration'))
    await arrives(page, /./)
    await looksRight(page, 'Registration closed')
  })
})

/** Settings with other colours, a logo, and links. */
function ownLook() {
  const folder = temporaryFolder('look')
  const [stylesheet, logo] = ['theme.css', 'logo.svg'].map((name) => path.join(folder, name))
  fs.writeFileSync(
    stylesheet,
    `:root { --accent: #5a1e78; --accent-hover: #451560; --on-accent: #ffffff }
    @media (prefers-color-scheme: dark) { :root { --accent: #d9b3f0; --accent-hover: #e5c9f6; --on-accent: #2a0f3a } }`,
  )
  const picture = '<style>rect { fill: #5a1e78 }</style><rect width="96" height="32" rx="8"/>'
  fs.writeFileSync(logo, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 32" width="96" height="32">${picture}</svg>`)
  return {
    IDENTITY_PAGES_STYLESHEET: stylesheet,
    IDENTITY_PAGES_LOGO: logo,
    IDENTITY_SUPPORT: 'help@example.com',
    IDENTITY_PAGES_PRIVACY_URL: 'https://example.com/privacy',
    IDENTITY_PAGES_TERMS_URL: 'https://example.com/terms',
    IDENTITY_PAGES_IMPRINT_URL: 'https://example.com/imprint',
  }
}

describe('in a look of their own, for everybody to use', () => {
  hooks(ownLook())

  async function isOwnLook(heading, name) {
    await at(heading, `${name}, in a look of its own`)
    const accent = await page.locator('html').evaluate((root) => getComputedStyle(root).getPropertyValue('--accent'))
    assert.equal(accent.trim(), '#5a1e78', name)
    const logo = page.getByRole('img', { name: 'Sluice' })
    assert.ok(await logo.evaluate((image) => image.complete && image.naturalWidth > 0), `${name}: the logo is there`)
    const links = page.getByRole('navigation', { name: 'About this service' }).getByRole('link')
    const expected = ['mailto:help@example.com', 'https://example.com/privacy', 'https://example.com/terms', 'https://example.com/imprint']
    assert.deepEqual(await links.evaluateAll((all) => all.map((link) => link.href)), expected, name)
  }

  test('the pages have the colours, the logo and the links that they are given', async () => {
    await service.application.begin(page)
    await isOwnLook('Sign in', 'Sign in')
    const button = page.getByRole('button', { name: 'Sign in', exact: true })
    assert.equal(await button.evaluate((element) => getComputedStyle(element).backgroundColor), 'rgb(90, 30, 120)')
    await openAccount(service, page, await givenPerson(service))
    await isOwnLook('Your account', 'Your account')
    await page.goto(new URL('ui/device/success', service.issuer).href)
    await isOwnLook(/./, 'A device')
    await page.goto(new URL('oauth2/auth?client_id=nobody&response_type=code', service.issuer).href)
    await isOwnLook(/./, 'An application that nobody knows')
  })
})

describe('by keyboard alone', () => {
  hooks({})

  test('somebody signs in with a password and a code', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    const { app } = await enrolApp(service, page)
    await browser.context.clearCookies()
    const signIn = await service.application.begin(page)
    await focused('email')
    await page.keyboard.type(person.email)
    await tabTo('password')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await focused('code')
    await page.keyboard.type(app.code())
    await page.keyboard.press('Enter')
    await page.locator('button[name=decision][value=accept]').waitFor()
    await tabTo('remember', 'true')
    assert.deepEqual(await sentByEnter(), [], 'nothing is decided by accident')
    await tabTo('decision', 'reject')
    await tabTo('decision', 'accept')
    await page.keyboard.press('Enter')
    await arrives(page, 'The application')
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
  })
})

/** What the Enter key on the box that has the focus sends, within a moment. */
async function sentByEnter() {
  const sent = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
  await page.keyboard.press('Enter')
  await new Promise((resolve) => setTimeout(resolve, 500))
  return sent
}

/** Waits until the field of this name has the focus. */
function focused(name) {
  return page.waitForFunction((wanted) => document.activeElement?.name === wanted, name)
}

/** Presses the Tab key until a field or button of this name, and of this value if one is given, has the focus. */
async function tabTo(name, value = '') {
  for (let presses = 0; presses < 20; presses += 1) {
    await page.keyboard.press('Tab')
    const now = await page.evaluate(() => ({ name: document.activeElement.name, value: document.activeElement.value }))
    if (now.name === name && now.value === value) return
  }
  throw new Error(`${name} cannot be reached`)
}
