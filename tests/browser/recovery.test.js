// A person who forgot the password, in headless Chromium.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press, pressTwice, sees } from '../support/chromium.js'
import { OTHER_PASSWORD, givenPerson, newEmail, openAccount, startIdentity, typePassword } from '../support/identity.js'

const RECOVER = /^Set a new password/
const WRONG = 'The email address or the password is wrong.'

let service, browser, page

async function askForMail(email, on = page) {
  await press(on, 'Forgot your password?')
  await on.getByLabel('Email address').fill(email)
  await press(on, 'Send mail')
  await arrives(on, 'Check your mail')
}

async function setPassword(password, on = page) {
  await arrives(on, 'Set a new password')
  await on.getByLabel('Password', { exact: true }).fill(password)
  await press(on, 'Set password')
}

describe('recovery', () => {
  before(async () => {
    service = await startIdentity()
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())

  test('the link of the mail sets another password, and the old one is good for nothing', async () => {
    const person = await givenPerson(service)
    await service.application.begin(page)
    await askForMail(person.email)
    const { link } = await service.mailbox.take(person.email, RECOVER)
    await page.goto(link)
    await setPassword(OTHER_PASSWORD)
    await sees(page, 'Your password is set')
    await service.mailbox.take(person.email, /^Your password at .* was changed/)

    const signIn = await service.application.begin(page)
    await typePassword(page, person)
    await page.getByRole('alert').getByText(WRONG).waitFor()
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    const tokens = await signIn.tokens()
    assert.equal(tokens.claims().sub, person.id)

    await page.goto(link)
    await page.getByRole('alert').getByText('This link or code was used already, or is too old').waitFor()
    await arrives(page, 'Forgot your password?')
  })

  test('the address is typed once, from the wrong password to the new one', async () => {
    const person = await givenPerson(service)
    const signIn = await service.application.begin(page)
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    await page.getByRole('alert').getByText(WRONG).waitFor()
    await press(page, 'Forgot your password?')
    const field = page.getByLabel('Email address')
    assert.equal(await field.inputValue(), person.email)
    await press(page, 'Send mail')
    await arrives(page, 'Check your mail')
    await page.getByLabel('Code').fill((await service.mailbox.take(person.email, RECOVER)).code)
    await press(page, 'Continue')
    await setPassword(OTHER_PASSWORD)
    await sees(page, 'Your password is set')
    await press(page, 'Sign in')
    assert.equal(await field.inputValue(), person.email)
    await page.getByLabel('Password', { exact: true }).fill(OTHER_PASSWORD)
    await press(page, 'Sign in')
    assert.equal((await signIn.tokens()).claims().sub, person.id)
  })

  test('the code of the mail leads through the flow that waits, in the same tab', async () => {
    const person = await givenPerson(service)
    const signIn = await service.application.begin(page)
    await askForMail(person.email)
    const { code } = await service.mailbox.take(person.email, RECOVER)
    const field = page.getByLabel('Code')
    await field.fill('AAAA-AAAA')
    await press(page, 'Continue')
    await page.getByRole('alert').getByText('This code is not right, or too old.').waitFor()
    await field.fill(code.toLowerCase())
    await press(page, 'Continue')
    await setPassword(OTHER_PASSWORD)
    await sees(page, 'Sign in with it now.')
    await press(page, 'Sign in')
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    assert.equal((await signIn.tokens()).claims().sub, person.id)
  })

  test('a mail is asked for once by two clicks, and its code shown once', async () => {
    const person = await givenPerson(service)
    await service.application.begin(page)
    await press(page, 'Forgot your password?')
    await page.getByLabel('Email address').fill(person.email)
    const asked = await pressTwice(page, 'Send mail')
    await arrives(page, 'Check your mail')
    assert.deepEqual(asked, ['/ui/recovery'])
    await page.getByLabel('Code').fill((await service.mailbox.take(person.email, RECOVER)).code)
    const shown = await pressTwice(page, 'Continue')
    await arrives(page, 'Set a new password')
    assert.deepEqual(shown, ['/ui/recovery/code'])
  })

  test('the page for the code is loaded again, left and found again, and sends no other mail', async () => {
    const person = await givenPerson(service)
    await service.application.begin(page)
    await askForMail(person.email)
    const { code } = await service.mailbox.take(person.email, RECOVER)
    const posted = []
    page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()))
    await page.reload()
    await arrives(page, 'Check your mail')
    await press(page, 'ask for another one')
    await arrives(page, 'Forgot your password?')
    await page.goBack()
    await arrives(page, 'Check your mail')
    await sees(page, `If ${person.email} belongs to an account`)
    assert.deepEqual(posted, [])
    assert.ok(!decodeURIComponent(page.url()).includes(person.email))
    await page.getByLabel('Code').fill(code)
    await press(page, 'Continue')
    await arrives(page, 'Set a new password')
    assert.deepEqual(service.mailbox.to(person.email), [])
    await page.goBack()
    await arrives(page, 'Check your mail')
  })

  test('a weak password is refused, and another one may be chosen with the same mail', async () => {
    const person = await givenPerson(service)
    await service.application.begin(page)
    await askForMail(person.email)
    await page.goto((await service.mailbox.take(person.email, RECOVER)).link)
    await page.locator('form').evaluate((form) => (form.noValidate = true))
    await setPassword('short')
    await page.getByRole('alert').getByText('at least 8 characters').waitFor()
    await setPassword(OTHER_PASSWORD)
    await sees(page, 'Your password is set')
    await openAccount(service, page, { ...person, password: OTHER_PASSWORD })
  })

  test('the way to it stands beside the password, and behind it for the keyboard', async () => {
    await service.application.begin(page)
    await page.focus('input[name=email]')
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement.id), 'password')
    const [label, link] = [page.locator('label[for=password]'), page.getByRole('link', { name: 'Forgot your password?' })]
    const [beside, field] = [await link.boundingBox(), await page.locator('#password').boundingBox()]
    assert.ok(beside.y + beside.height <= field.y && beside.x > (await label.boundingBox()).x)
  })

  test('an unknown address is answered as a known one, and nothing is sent', async () => {
    const [known, unknown] = [(await givenPerson(service)).email, newEmail()]
    const shown = []
    for (const email of [unknown, known]) {
      await service.application.begin(page)
      await askForMail(email)
      shown.push((await page.locator('main').innerText()).replaceAll(email, '…'))
    }
    assert.equal(shown[0], shown[1])
    await service.mailbox.take(known, RECOVER)
    assert.deepEqual(service.mailbox.to(unknown), [])
  })

  test('everybody who was signed in is out, applications too', async () => {
    const person = await givenPerson(service)
    const signIn = await service.application.begin(page)
    await typePassword(page, person)
    const tokens = await signIn.tokens()
    await openAccount(service, page, person)
    const other = await openBrowser()
    await service.application.begin(other.page)
    await askForMail(person.email, other.page)
    await other.page.goto((await service.mailbox.take(person.email, RECOVER)).link)
    await setPassword(OTHER_PASSWORD, other.page)
    await sees(other.page, 'Your password is set')
    assert.equal((await service.application.introspect(tokens.access_token)).active, false)
    await page.goto(service.account('/sessions'))
    await arrives(page, 'Sign in to your account')
    await other.close()
  })

  test('works without JavaScript', async () => {
    const person = await givenPerson(service)
    const plain = await openBrowser({ javaScriptEnabled: false })
    const signIn = await service.application.begin(plain.page)
    await askForMail(person.email, plain.page)
    await plain.page.getByLabel('Code').fill((await service.mailbox.take(person.email, RECOVER)).code)
    await press(plain.page, 'Continue')
    await setPassword(OTHER_PASSWORD, plain.page)
    await press(plain.page, 'Sign in')
    await typePassword(plain.page, { ...person, password: OTHER_PASSWORD })
    assert.ok((await signIn.tokens()).id_token)
    await plain.close()
  })
})
