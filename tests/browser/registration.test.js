// A person who registers, and who shows that the address is theirs, in headless Chromium.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { fetchUserInfo } from 'openid-client'
import { arrives, openBrowser, press, pressTwice, sees } from '../support/chromium.js'
import { OTHER_PASSWORD, PASSWORD, givenPerson, newEmail, openAccount, startIdentity, typePassword } from '../support/identity.js'

const VERIFY = /^Confirm your email address/

let service, browser, page

async function openRegistration(on = page) {
  const signIn = await service.application.begin(on)
  await press(on, 'Create an account')
  await arrives(on, 'Create your account')
  return signIn
}

/** What assistive technology says is wrong with a field. */
async function errorOf(field) {
  await field.and(page.locator('[aria-invalid=true]')).waitFor()
  const ids = (await field.getAttribute('aria-describedby')).split(' ')
  return page.locator(`[role=alert][id="${ids[0]}"]`).innerText()
}

/** Sends the form as it is: a browser would hold it back. */
async function sendUnchecked() {
  await page.locator('form').evaluate((form) => (form.noValidate = true))
  await press(page, 'Create account')
}

function hooks(env) {
  before(async () => {
    service = await startIdentity({ env })
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => browser?.close())
}

describe('registration', () => {
  hooks({})

  test('a weak password is refused at its field, and a good one leads on to the application', async () => {
    const email = newEmail()
    const signIn = await openRegistration()
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('What should we call you?').fill('Alice Liddell')
    const password = page.getByLabel('Password', { exact: true })
    for (const [typed, sentence] of [['short', /at least 8 characters/], [email, /other than your email address/], ['Alice Liddell', /other than your name/]]) {
      await password.fill(typed)
      await sendUnchecked()
      assert.match(await errorOf(password), sentence)
      assert.equal(await password.inputValue(), '')
      assert.equal(await page.getByLabel('Email address').inputValue(), email)
      assert.equal(await page.getByLabel('What should we call you?').inputValue(), 'Alice Liddell')
      assert.ok(await password.evaluate((input) => input === document.activeElement), 'the field has the focus')
    }
    await typePassword(page, { password: PASSWORD })
    const tokens = await signIn.tokens()
    assert.match(tokens.claims().sub, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.deepEqual(tokens.claims().amr, ['pwd'])
    const person = await (await fetch(`${service.adminUrl}/admin/identities/${tokens.claims().sub}`)).json()
    assert.deepEqual([person.email, person.username], [email, 'Alice Liddell'])
    const userinfo = await fetchUserInfo(service.application.configuration, tokens.access_token, tokens.claims().sub)
    assert.deepEqual([userinfo.email, userinfo.email_verified, userinfo.preferred_username], [email, false, 'Alice Liddell'])
  })

  test('a password can be looked at before it is sent', async () => {
    await openRegistration()
    const password = page.getByLabel('Password', { exact: true })
    await password.fill(PASSWORD)
    await press(page, 'Show password')
    assert.deepEqual([await password.getAttribute('type'), await password.inputValue()], ['text', PASSWORD])
    await press(page, 'Hide password')
    assert.deepEqual([await password.getAttribute('type'), await password.inputValue()], ['password', PASSWORD])
  })

  test('an address that is none, or that is taken, is refused at its field', async () => {
    const taken = await givenPerson(service)
    await openRegistration()
    const field = page.getByLabel('Email address')
    for (const [typed, sentence] of [['alice@', /such as name@example.com/], [taken.email, /an account with this email address/]]) {
      await field.fill(typed)
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await sendUnchecked()
      assert.match(await errorOf(field), sentence)
      assert.equal(await field.inputValue(), typed)
    }
  })

  test('an address may have letters of any language before the @', async () => {
    const email = `zoë.${newEmail()}`
    const signIn = await openRegistration()
    await typePassword(page, { email })
    const { sub } = (await signIn.tokens()).claims()
    const person = await (await fetch(`${service.adminUrl}/admin/identities/${sub}`)).json()
    assert.equal(person.email, email)
  })

  test('the link of the mail verifies the address, by a button and once', async () => {
    const email = newEmail()
    const signIn = await openRegistration()
    await typePassword(page, { email })
    await signIn.tokens()
    const mail = await service.mailbox.take(email, VERIFY)
    assert.ok(mail.html.includes(mail.code), 'the mail has a part in HTML')
    await page.goto(mail.link)
    await page.goto(mail.link) // looking spends nothing
    await press(page, 'Confirm address')
    await sees(page, 'Your address is confirmed')
    await page.goto(mail.link)
    await press(page, 'Confirm address')
    await sees(page, 'This link was used already, or is too old.')
    // What an application was told is what it was told at consent: it hears of this at the next one.
    const again = await service.application.begin(page)
    const tokens = await again.tokens()
    const userinfo = await fetchUserInfo(service.application.configuration, tokens.access_token, tokens.claims().sub)
    assert.deepEqual([userinfo.email, userinfo.email_verified], [email, true])
  })

  test('the code of the mail verifies the address too, and a wrong one says so', async () => {
    const email = newEmail()
    const signIn = await openRegistration()
    await typePassword(page, { email })
    await signIn.tokens()
    const { code } = await service.mailbox.take(email, VERIFY)
    await page.goto(new URL('ui/verification', service.issuer).href)
    for (const typed of ['AAAA-AAAA', code.toLowerCase().replace('-', '')]) {
      await page.getByLabel('Email address').fill(email)
      await page.getByLabel('Code').fill(typed)
      await press(page, 'Confirm address')
      if (typed === 'AAAA-AAAA') assert.match(await errorOf(page.getByLabel('Code')), /not right, or too old/)
    }
    await sees(page, 'Your address is confirmed')
  })

  test('the link and the code of the mail are sent once by two clicks', async () => {
    for (const isTyped of [false, true]) {
      const email = newEmail()
      const signIn = await openRegistration()
      await typePassword(page, { email })
      await signIn.tokens()
      const mail = await service.mailbox.take(email, VERIFY)
      await page.goto(isTyped ? new URL('ui/verification', service.issuer).href : mail.link)
      if (isTyped) {
        await page.getByLabel('Email address').fill(email)
        await page.getByLabel('Code').fill(mail.code)
      }
      const sent = await pressTwice(page, 'Confirm address')
      await sees(page, 'Your address is confirmed')
      assert.deepEqual(sent, ['/ui/verification'])
      await browser.context.clearCookies()
    }
  })

  test('the account page sends a verification mail and takes its code', async () => {
    const person = await givenPerson(service, { verified: false })
    await openAccount(service, page, person)
    await sees(page, 'Not verified')
    await press(page, 'Send verification mail')
    const { code } = await service.mailbox.take(person.email, VERIFY)
    await page.getByLabel('Code').fill(code)
    await press(page, 'Confirm')
    await page.getByRole('status').getByText('Your email address is verified.').waitFor()
    assert.equal(await page.getByText('Not verified').count(), 0)
  })

  test('works without JavaScript', async () => {
    const plain = await openBrowser({ javaScriptEnabled: false })
    const email = newEmail()
    const signIn = await openRegistration(plain.page)
    await typePassword(plain.page, { email })
    await plain.page.locator('button[name=decision][value=accept]').click()
    assert.ok((await signIn.tokens()).id_token)
    await plain.page.goto((await service.mailbox.take(email, VERIFY)).link)
    await press(plain.page, 'Confirm address')
    await sees(plain.page, 'Your address is confirmed')
    await plain.close()
  })
})

describe('registration that conceals which addresses are taken', () => {
  hooks({ IDENTITY_REGISTRATION_CONCEAL_TAKEN: 'true' })

  test('answers a taken address as any other, and tells its owner by mail', async () => {
    const taken = await givenPerson(service)
    const shown = []
    for (const email of [taken.email, newEmail()]) {
      await openRegistration()
      await typePassword(page, { email, password: OTHER_PASSWORD })
      await arrives(page, 'Check your mail')
      shown.push((await page.locator('main').innerText()).replaceAll(email, '…'))
    }
    assert.equal(shown[0], shown[1])
    const mail = await service.mailbox.take(taken.email, /already have an account/)
    assert.equal(mail.code, undefined)
  })

  test('has a page that is loaded again and registers nobody anew', async () => {
    const email = newEmail()
    await openRegistration()
    await typePassword(page, { email })
    await arrives(page, 'Check your mail')
    const { code } = await service.mailbox.take(email, VERIFY)
    await page.reload()
    await arrives(page, 'Check your mail')
    await sees(page, email)
    await page.getByLabel('Code').fill(code)
    await press(page, 'Confirm address')
    await sees(page, 'Your address is confirmed')
    assert.deepEqual(service.mailbox.to(email), [])
  })

  test('takes the code of the mail once by two clicks', async () => {
    const email = newEmail()
    await openRegistration()
    await typePassword(page, { email })
    await page.getByLabel('Code').fill((await service.mailbox.take(email, VERIFY)).code)
    const sent = await pressTwice(page, 'Confirm address')
    await sees(page, 'Your address is confirmed')
    assert.deepEqual(sent, ['/ui/verification'])
  })

  test('goes on to the application once the code of the mail was typed', async () => {
    const email = newEmail()
    const signIn = await openRegistration()
    await typePassword(page, { email })
    await page.getByLabel('Code').fill((await service.mailbox.take(email, VERIFY)).code)
    await press(page, 'Confirm address')
    await sees(page, 'Your address is confirmed')
    await press(page, 'Sign in')
    await typePassword(page, { email })
    assert.ok((await signIn.tokens()).id_token)
  })
})

describe('a server that asks for proof of work', () => {
  hooks({ IDENTITY_PROOF_OF_WORK_REGISTRATION_BITS: '12', IDENTITY_PROOF_OF_WORK_LOGIN_BITS: '12' })

  test('is given it by the browser, at registration and at login', async () => {
    const email = newEmail()
    const registration = await openRegistration()
    assert.equal(await page.locator('input[name=solution]').inputValue(), '')
    await typePassword(page, { email })
    await registration.tokens()
    await browser.context.clearCookies()
    const login = await service.application.begin(page)
    await typePassword(page, { email })
    assert.ok((await login.tokens()).id_token)
  })

  test('is given it at the account pages as well', async () => {
    await openAccount(service, page, await givenPerson(service))
  })

  test('is given another one after a mistake', async () => {
    const person = await givenPerson(service)
    const login = await service.application.begin(page)
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor()
    await typePassword(page, person)
    assert.ok((await login.tokens()).id_token)
  })

  test('refuses a form without it, and says what is missing where there is no JavaScript', async () => {
    const person = await givenPerson(service)
    const plain = await openBrowser({ javaScriptEnabled: false })
    await service.application.begin(plain.page)
    await sees(plain.page, 'This form needs JavaScript')
    await typePassword(plain.page, person)
    await plain.page.getByRole('alert').first().waitFor()
    assert.match(plain.page.url(), /\/ui\/login/)
    await plain.close()
  })
})
