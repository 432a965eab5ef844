// A person with an authenticator app beside the password, in headless Chromium.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press, sees } from '../support/chromium.js'
import { authenticatorApp, enrolApp, givenPerson, openAccount, recoveryCodes, startIdentity, typePassword } from '../support/identity.js'

const FACTOR = 'Confirm that it is you'

let service, browser, page

async function givenPersonWithApp() {
  const person = await givenPerson(service)
  await openAccount(service, page, person)
  return { ...person, ...(await enrolApp(service, page)) }
}

/** The first step of a login at the application, from a browser that nobody knows. */
async function beginLogin(person, parameters) {
  await browser.context.clearCookies()
  const signIn = await service.application.begin(page, parameters)
  await typePassword(page, person)
  return signIn
}

async function typeCode(code) {
  await page.getByLabel('Code', { exact: true }).fill(code)
  await press(page, 'Continue')
}

async function typeRecoveryCode(code) {
  if (!(await page.getByLabel('Recovery code').isVisible())) await page.getByText('Use a recovery code').click()
  await page.getByLabel('Recovery code').fill(code)
  await press(page, 'Use this code')
}

describe('an authenticator app', () => {
  before(async () => {
    service = await startIdentity()
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('is added on the account page, with codes for the day it is lost', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await press(page, 'Second factors')
    await sees(page, 'You have none yet.')
    await press(page, 'Add an authenticator app')
    const picture = page.getByRole('img', { name: 'QR code' })
    assert.ok((await picture.boundingBox()).width > 150, 'the QR code can be seen')
    const secret = await page.locator('.exhibit-secret').innerText()
    const address = new URL(await page.getByRole('link', { name: 'open it on this device' }).getAttribute('href'))
    assert.equal(address.searchParams.get('secret'), secret.replaceAll(' ', ''))
    await page.getByLabel('Code', { exact: true }).fill('000000')
    await press(page, 'Add')
    await page.getByRole('alert').getByText('This is not the code that your app should show.').waitFor()
    const again = page.locator('.exhibit-secret')
    assert.equal(await again.isVisible(), false, 'it is folded away')
    await page.getByText('Show the code again').click()
    assert.equal(await again.innerText(), secret)
    assert.ok(await picture.isVisible())
    await page.getByLabel('Code', { exact: true }).fill(authenticatorApp(secret).code())
    await page.getByLabel('Name').fill('My phone')
    await press(page, 'Add')
    const codes = await recoveryCodes(page)
    assert.equal(new Set(codes).size, 10)
    const sheet = await page.locator('#sheet').innerText()
    assert.match(sheet, /, made \d+ \w+ \d{4}, /)
    assert.ok(sheet.startsWith(person.email), sheet)
    await page.getByRole('button', { name: 'Print' }).waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByRole('button', { name: 'Print' }).isVisible(), false)
    assert.ok(await page.locator('#sheet').isVisible())
    await page.emulateMedia({ media: null })
    await press(page, 'I have kept them')
    const shown = await sees(page, 'My phone')
    assert.match(shown, /You have 10 left/)
    await service.mailbox.take(person.email, /^A sign-in method was added to/)
  })

  test('is asked for after the password, and the application hears of both', async () => {
    const person = await givenPersonWithApp()
    const signIn = await beginLogin(person)
    await arrives(page, FACTOR)
    await typeCode('000000')
    const field = page.getByLabel('Code', { exact: true })
    await field.and(page.locator('[aria-invalid=true]')).waitFor()
    assert.match(await page.getByRole('alert').innerText(), /code/i)
    await typeCode(person.app.code())
    const claims = (await signIn.tokens()).claims()
    assert.equal(claims.sub, person.id)
    assert.deepEqual([...claims.amr].sort(), ['mfa', 'otp', 'pwd'])
    assert.equal(claims.acr, 'aal2')
  })

  test('is shown once by two clicks', async () => {
    const person = await givenPersonWithApp()
    const signIn = await beginLogin(person)
    await arrives(page, FACTOR)
    await page.getByLabel('Code', { exact: true }).fill(person.app.code())
    let spent = 0
    page.on('request', (request) => {
      if (/&code=\d{6}/.test(request.postData() ?? '')) spent += 1
    })
    await page.getByRole('button', { name: 'Continue' }).dblclick()
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
    assert.equal(spent, 1)
  })

  test('has codes that work once, however long they are shown', async () => {
    const person = await givenPersonWithApp()
    const code = person.app.code()
    const first = await beginLogin(person)
    await typeCode(code)
    await first.tokens()
    await beginLogin(person)
    await typeCode(code)
    await page.getByRole('alert').first().waitFor()
    assert.equal(await page.locator('button[name=decision]').count(), 0)
  })

  test('puts everybody out who signed in without it', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    const other = await openBrowser()
    await openAccount(service, other.page, person)
    await enrolApp(service, page)
    await other.page.goto(service.account('/factors'))
    await arrives(other.page, 'Sign in to your account')
    await press(page, 'I have kept them')
    await sees(page, 'My phone')
    await other.close()
  })

  test('is stood in for by a recovery code, which works once', async () => {
    const person = await givenPersonWithApp()
    const [code] = person.recoveryCodes
    const signIn = await beginLogin(person)
    await typeRecoveryCode(code.toLowerCase())
    const claims = (await signIn.tokens()).claims()
    assert.deepEqual([claims.acr, claims.amr.includes('mfa')], ['aal2', true])
    await beginLogin(person)
    await typeRecoveryCode(code)
    await page.getByRole('alert').first().waitFor()
    assert.ok(await page.getByLabel('Recovery code').isVisible(), 'the field is unfolded')
    await typeRecoveryCode(person.recoveryCodes[1])
    await page.locator('button[name=decision][value=accept]').waitFor()
  })

  test('is asked for at the account pages too, and before what matters is changed', async () => {
    const person = await givenPersonWithApp()
    await browser.context.clearCookies()
    await page.goto(service.account('/sessions'))
    await typePassword(page, person)
    await arrives(page, FACTOR)
    await page.getByLabel('Code', { exact: true }).fill(person.app.code())
    await press(page, 'Continue')
    await arrives(page, 'Devices')
  })

  test('is asked for when an application wants more than a password', async () => {
    const person = await givenPerson(service)
    const plain = await beginLogin(person)
    const before = (await plain.tokens()).claims()
    assert.deepEqual([before.acr, before.amr], ['aal1', ['pwd']])
    const refused = await beginLogin(person, { acr_values: 'aal2' })
    await arrives(page, 'A second factor is needed')
    await press(page, 'Back to the application')
    assert.equal(await refused.refusal(), 'unmet_authentication_requirements')

    await beginLogin(person, { acr_values: 'aal2' })
    await press(page, 'Set one up')
    await typePassword(page, person)
    await arrives(page, 'Second factors')
    const { app } = await enrolApp(service, page)
    const signIn = await beginLogin(person, { acr_values: 'aal2' })
    await typeCode(app.code())
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
  })

  test('steps a login up that began with a password alone', async () => {
    const person = await givenPerson(service)
    const first = await service.application.begin(page)
    await page.getByLabel('Keep me signed in on this device').check()
    await typePassword(page, person)
    await first.tokens()
    const known = await service.application.begin(page)
    await known.tokens() // nobody is asked for a password
    await openAccount(service, page, person)
    const { app } = await enrolApp(service, page)
    const again = await service.application.begin(page, { acr_values: 'aal2' })
    await arrives(page, FACTOR)
    assert.equal(await page.getByLabel('Email address').inputValue(), person.email)
    await typePassword(page, { password: person.password })
    await typeCode(app.code())
    assert.equal((await again.tokens()).claims().acr, 'aal2')
  })

  test('is renamed and removed, and not asked for from then on', async () => {
    const person = await givenPersonWithApp()
    await page.goto(service.account('/factors'))
    await page.getByText('Change My phone').click()
    await page.getByLabel('Name').fill('Old phone')
    await press(page, 'Rename')
    await page.getByRole('status').getByText('It has another name now.').waitFor()
    await page.getByText('Change Old phone').click()
    await press(page, 'Remove Old phone')
    await arrives(page, 'Remove this authenticator app?')
    await sees(page, 'Your account then has no second factor')
    await press(page, 'Keep it')
    await page.getByText('Change Old phone').click()
    await press(page, 'Remove Old phone')
    await arrives(page, 'Remove this authenticator app?')
    await press(page, 'Remove')
    await page.getByRole('status').getByText('It is removed.').waitFor()
    await sees(page, 'You have none yet.')
    await service.mailbox.take(person.email, /^A sign-in method was removed from/)
    const signIn = await beginLogin(person)
    assert.equal((await signIn.tokens()).claims().acr, 'aal1')
  })

  test('has new recovery codes on demand, and the old ones are good for nothing then', async () => {
    const person = await givenPersonWithApp()
    await page.goto(service.account('/factors'))
    await press(page, 'Make new codes')
    await arrives(page, 'Make new recovery codes?')
    await sees(page, 'The 10 codes that you have left are good for nothing then.')
    await press(page, 'Make new codes')
    const fresh = await recoveryCodes(page)
    assert.equal(fresh.filter((code) => person.recoveryCodes.includes(code)).length, 0)
    await page.reload()
    await page.getByRole('alert').getByText('Recovery codes are shown once').waitFor()
    await beginLogin(person)
    await typeRecoveryCode(person.recoveryCodes[0])
    await page.getByRole('alert').first().waitFor()
    await typeRecoveryCode(fresh[0])
    await page.locator('button[name=decision][value=accept]').waitFor()
  })

  test('works without JavaScript', async () => {
    const person = await givenPersonWithApp()
    const plain = await openBrowser({ javaScriptEnabled: false })
    const signIn = await service.application.begin(plain.page)
    await typePassword(plain.page, person)
    await plain.page.getByLabel('Code', { exact: true }).fill(person.app.code())
    await press(plain.page, 'Continue')
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
    await plain.close()
  })
})
