// A person whose device keeps a passkey, in headless Chromium with an authenticator of its own.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press, sees } from '../support/chromium.js'
import { enrolApp, givenPerson, openAccount, recoveryCodes, startIdentity, typePassword, virtualAuthenticator } from '../support/identity.js'

const ALONE = 'Sign in with a passkey'
const BESIDE = 'Use a passkey'

let service, browser, page, authenticator

async function addPasskey(name = 'This laptop') {
  await page.goto(service.account('/factors/passkey'))
  await page.getByLabel('Name').fill(name)
  await press(page, 'Create a passkey')
}

/** A person with a passkey, and whose browser has forgotten the person. */
async function givenPersonWithPasskey() {
  const person = await givenPerson(service)
  await openAccount(service, page, person)
  await addPasskey()
  const codes = await recoveryCodes(page)
  await browser.context.clearCookies()
  return { ...person, recoveryCodes: codes }
}

/** Begins a login at the application before which the browser does not offer its passkeys by itself. */
async function beginLogin(parameters) {
  await authenticator.answers(false)
  return service.application.begin(page, parameters)
}

async function pressPasskey(name) {
  const button = page.getByRole('button', { name })
  await button.waitFor()
  await authenticator.answers(true)
  await button.click()
}

describe('a passkey', () => {
  before(async () => {
    service = await startIdentity()
  })
  after(() => service?.stop())
  beforeEach(async () => {
    browser = await openBrowser()
    page = browser.page
    authenticator = await virtualAuthenticator(page)
  })
  afterEach(() => browser?.close())

  test('is added on the account page, for this person and this site', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await press(page, 'Second factors')
    await press(page, 'Add a passkey')
    await page.getByLabel('Name').fill('This laptop')
    await press(page, 'Create a passkey')
    assert.equal((await recoveryCodes(page)).length, 10)
    const [passkey, ...others] = await authenticator.passkeys()
    assert.deepEqual(others, [])
    assert.deepEqual([passkey.rpId, passkey.isResidentCredential], ['localhost', true])
    await press(page, 'I have kept them')
    const shown = await sees(page, 'This laptop')
    assert.match(shown, /Passkey\. Added/)
    await service.mailbox.take(person.email, /^A sign-in method was added to/)
  })

  test('cannot be added twice on one device, and the page says why', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await addPasskey()
    await recoveryCodes(page)
    await addPasskey('Once more')
    await page.getByRole('alert').getByText('This device has a passkey for your account already.').waitFor()
    assert.equal((await authenticator.passkeys()).length, 1)
  })

  test('is not made where its page was open for too long, and is made anew', async () => {
    const person = await givenPerson(service)
    await page.clock.install()
    await openAccount(service, page, person)
    await page.goto(service.account('/factors/passkey'))
    await page.getByLabel('Name').fill('This laptop')
    await page.clock.fastForward('06:00')
    await press(page, 'Create a passkey')
    await page.getByRole('alert').getByText('Nothing was added.').waitFor()
    assert.deepEqual(await authenticator.passkeys(), [])
    assert.equal(await page.getByLabel('Name').inputValue(), 'This laptop')
    await press(page, 'Create a passkey')
    assert.equal((await recoveryCodes(page)).length, 10)
    assert.equal((await authenticator.passkeys()).length, 1)
  })

  test('is asked for no longer than the server takes it', async () => {
    await page.addInitScript(() => {
      // A browser that takes as much time as it likes.
      navigator.credentials.create = ({ publicKey, signal }) => {
        window.timeout = publicKey.timeout
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
    })
    await page.clock.install()
    await openAccount(service, page, await givenPerson(service))
    await page.goto(service.account('/factors/passkey'))
    await page.clock.fastForward('03:00')
    await press(page, 'Create a passkey')
    const timeout = await page.evaluate(() => window.timeout)
    assert.ok(timeout > 60_000 && timeout < 120_000, `${timeout} ms`)
    await page.clock.fastForward(timeout)
    await page.getByRole('alert').getByText('No passkey was used.').waitFor()
  })

  test('is offered with the form again once the button came to nothing', async () => {
    await page.addInitScript(() => {
      const asked = []
      window.asked = asked
      PublicKeyCredential.isConditionalMediationAvailable = async () => true
      navigator.credentials.get = ({ mediation = 'button', signal }) => {
        asked.push(mediation)
        if (mediation === 'button') return Promise.reject(new DOMException('cancelled', 'NotAllowedError'))
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
    })
    await service.application.begin(page)
    await page.waitForFunction(() => window.asked.length === 1)
    await page.getByRole('button', { name: ALONE }).click()
    await page.getByRole('alert').getByText('No passkey was used. You can try again.').waitFor()
    await page.waitForFunction(() => window.asked.length === 3)
    assert.deepEqual(await page.evaluate(() => window.asked), ['conditional', 'button', 'conditional'])
  })

  test('signs in alone, by a button, with two factors in one', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await beginLogin()
    await pressPasskey(ALONE)
    const claims = (await signIn.tokens()).claims()
    assert.equal(claims.sub, person.id)
    assert.equal(claims.acr, 'aal2')
    assert.ok(claims.amr.includes('mfa') && !claims.amr.includes('pwd'), claims.amr.join(' '))
  })

  test('is asked for once by two clicks, which is no failure', async () => {
    await givenPersonWithPasskey()
    await beginLogin()
    await page.getByRole('button', { name: ALONE }).dblclick()
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal(await page.locator('[data-passkey-error]').textContent(), '')
    assert.equal(await page.getByRole('button', { name: ALONE }).getAttribute('aria-busy'), 'true')
  })

  test('signs in alone when the browser offers it with the form', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await service.application.begin(page)
    assert.equal((await signIn.tokens()).claims().sub, person.id)
  })

  test('signs in to the account pages alone', async () => {
    const person = await givenPersonWithPasskey()
    await authenticator.answers(false)
    await page.goto(service.account('/sessions'))
    await pressPasskey(ALONE)
    await arrives(page, 'Devices')
    await press(page, 'Account')
    await sees(page, person.email)
  })

  test('is the second factor after a password', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await beginLogin()
    await typePassword(page, person)
    await arrives(page, 'Confirm that it is you')
    await pressPasskey(BESIDE)
    const claims = (await signIn.tokens()).claims()
    assert.equal(claims.sub, person.id)
    assert.equal(claims.acr, 'aal2')
    assert.ok(claims.amr.includes('pwd') && claims.amr.includes('mfa'), claims.amr.join(' '))
  })

  test('that fails leaves the person with a sentence and the other ways', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await beginLogin()
    await typePassword(page, person)
    await arrives(page, 'Confirm that it is you')
    await authenticator.verifiesUser(false)
    await pressPasskey(BESIDE)
    await page.getByRole('alert').getByText('No passkey was used. You can try again.').waitFor()
    await page.getByText('Use a recovery code').click()
    await page.getByLabel('Recovery code').fill(person.recoveryCodes[0])
    await press(page, 'Use this code')
    assert.equal((await signIn.tokens()).claims().acr, 'aal2')
  })

  test('is not asked for by the Enter key in the field of the recovery code, which sends that', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await beginLogin()
    await typePassword(page, person)
    await arrives(page, 'Confirm that it is you')
    await page.getByText('Use a recovery code').click()
    await page.getByLabel('Recovery code').fill(person.recoveryCodes[0])
    await page.getByLabel('Recovery code').press('Enter')
    const claims = (await signIn.tokens()).claims()
    assert.deepEqual([claims.sub, claims.acr], [person.id, 'aal2'])
    assert.deepEqual([...claims.amr].sort(), ['mfa', 'pwd'])
  })

  test('satisfies an application that wants more than a password', async () => {
    const person = await givenPersonWithPasskey()
    const signIn = await beginLogin({ acr_values: 'aal2' })
    await pressPasskey(ALONE)
    const claims = (await signIn.tokens()).claims()
    assert.deepEqual([claims.sub, claims.acr], [person.id, 'aal2'])
  })

  test('shows once more who it is before something that matters', async () => {
    const person = await givenPersonWithPasskey()
    await authenticator.answers(false)
    await page.goto(service.account())
    await pressPasskey(ALONE)
    await arrives(page, 'Your account')
    await authenticator.answers(false)
    await page.goto(service.account('/confirm?then=delete'))
    await pressPasskey(BESIDE)
    await arrives(page, 'Delete your account')
    await sees(page, `Type ${person.email} to confirm.`)
  })

  test('is beyond a browser without JavaScript, which is told so and given another way', async () => {
    const person = await givenPersonWithPasskey()
    const plain = await openBrowser({ javaScriptEnabled: false })
    const signIn = await service.application.begin(plain.page)
    assert.equal(await plain.page.getByRole('button', { name: ALONE }).count(), 0)
    await typePassword(plain.page, person)
    await sees(plain.page, 'A passkey can only be used with JavaScript')
    await plain.page.getByText('Use a recovery code').click()
    await plain.page.getByLabel('Recovery code').fill(person.recoveryCodes[0])
    await press(plain.page, 'Use this code')
    assert.equal((await signIn.tokens()).claims().sub, person.id)
    await plain.close()
  })

  test('may be one of several factors, and is offered beside the code', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await enrolApp(service, page)
    await addPasskey()
    await page.getByRole('status').getByText('It is added.').waitFor()
    await browser.context.clearCookies()
    const signIn = await beginLogin()
    await typePassword(page, person)
    await page.getByLabel('Code', { exact: true }).waitFor()
    await pressPasskey(BESIDE)
    assert.ok((await signIn.tokens()).id_token)
  })

  test('is removed, and good for nothing then', async () => {
    const person = await givenPersonWithPasskey()
    await authenticator.answers(false)
    await page.goto(service.account('/factors'))
    await pressPasskey(ALONE)
    await page.getByText('Change This laptop').click()
    await press(page, 'Remove This laptop')
    await arrives(page, 'Remove this passkey?')
    await press(page, 'Remove')
    await page.getByRole('status').getByText('It is removed.').waitFor()
    await service.mailbox.take(person.email, /^A sign-in method was removed from/)
    await browser.context.clearCookies()
    const signIn = await beginLogin()
    const sent = page.waitForRequest(/\/ui\/login\/passkey(\?|$)/)
    await pressPasskey(ALONE)
    await sent
    await authenticator.answers(false)
    await page.getByRole('alert').getByText('This passkey did not work.').waitFor()
    await typePassword(page, person)
    assert.equal((await signIn.tokens()).claims().acr, 'aal1')
  })
})
