// A person who looks after the account, in headless Chromium.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press, sees } from '../support/chromium.js'
import { OTHER_PASSWORD, PASSWORD, enrolApp, givenPerson, newEmail, openAccount, startIdentity, typePassword } from '../support/identity.js'

const SIGN_IN = 'Sign in to your account'

let service, browser, page, others

/** Signs in to the application, and says yes; gives the tokens. */
async function signIn(person, on = page) {
  const waiting = await service.application.begin(on)
  await typePassword(on, person)
  return waiting.tokens()
}

async function isActive(token) {
  return (await service.application.introspect(token)).active
}

/** Another browser, in which the person is signed in to the account pages. */
async function openElsewhere(person, options) {
  const other = await openBrowser(options)
  others.push(other)
  await openAccount(service, other.page, person)
  return other.page
}

async function isOut(on) {
  await on.goto(service.account())
  await arrives(on, SIGN_IN)
}

async function says(sentence, on = page) {
  await on.getByRole('status').getByText(sentence).waitFor()
}

describe('the account pages', () => {
  before(async () => {
    service = await startIdentity()
  })
  after(() => service?.stop())
  beforeEach(async () => {
    others = []
    browser = await openBrowser()
    page = browser.page
  })
  afterEach(() => Promise.all([browser, ...others].map((each) => each?.close())))

  test('are for who signs in, and lead to the page that was asked for', async () => {
    const person = await givenPerson(service)
    await page.goto(service.account('/applications'))
    await typePassword(page, { ...person, password: OTHER_PASSWORD })
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor()
    await typePassword(page, person)
    await arrives(page, 'Applications')
    assert.equal(await page.getByRole('link', { name: 'Applications' }).getAttribute('aria-current'), 'page')
    await press(page, 'Sign out')
    await says('You are signed out.')
    await isOut(page)
  })

  test('list the places where one is signed in, and end one of them', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    const phone = await openElsewhere(person, { userAgent: 'Mozilla/5.0 (Android 14; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0' })
    await press(page, 'Devices')
    const rows = page.getByRole('region', { name: 'This account' }).getByRole('listitem')
    assert.equal(await rows.count(), 2)
    assert.match(await rows.filter({ hasText: 'This device' }).innerText(), /Chrome on Linux/)
    assert.match(await rows.filter({ hasText: 'Firefox on Android' }).innerText(), /From 127\.0\.0\.1|From ::1/)
    await press(page, 'Sign out Firefox on Android')
    await says('It is signed out.')
    assert.equal(await rows.count(), 1)
    await isOut(phone)
    await page.goto(service.account())
    await arrives(page, 'Your account')
  })

  test('end all places but this one', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    const elsewhere = [await openElsewhere(person), await openElsewhere(person)]
    await page.goto(service.account('/sessions'))
    await press(page, 'Sign out all but this one')
    await says('You are signed out of your account on all other devices.')
    for (const other of elsewhere) await isOut(other)
  })

  test('end the session of a browser that signed in to an application', async () => {
    const person = await givenPerson(service)
    const waiting = await service.application.begin(page)
    await page.getByLabel('Keep me signed in on this device').check()
    await typePassword(page, person)
    await waiting.tokens()
    await openAccount(service, page, person)
    await press(page, 'Devices')
    const browsers = page.getByRole('region', { name: 'Browsers that sign in to applications' })
    const shown = /Chrome on Linux\s+This browser\s+From \S+\. Signed in .+\.\s+Signs in without asking again/
    assert.match(await browsers.innerText(), shown)
    await browsers.getByRole('button', { name: 'Sign out browser 1, Chrome on Linux, this one, signed in' }).click()
    await says('It is signed out.')
    assert.match(await browsers.innerText(), /None\./)
    await service.application.begin(page)
    await arrives(page, 'Sign in')
  })

  test('sign out everywhere, and applications lose what they were given', async () => {
    const person = await givenPerson(service)
    const tokens = await signIn(person)
    await openAccount(service, page, person)
    const other = await openElsewhere(person)
    assert.equal(await isActive(tokens.access_token), true)
    await press(page, 'Devices')
    await press(page, 'Sign out everywhere')
    await arrives(page, 'Sign out everywhere?')
    await press(page, 'Stay signed in')
    await arrives(page, 'Devices')
    assert.equal(await isActive(tokens.access_token), true)
    await press(page, 'Sign out everywhere')
    await arrives(page, 'Sign out everywhere?')
    await press(page, 'Sign out everywhere')
    await says('You are signed out.')
    assert.deepEqual([await isActive(tokens.access_token), await isActive(tokens.refresh_token)], [false, false])
    await isOut(page)
    await isOut(other)
    await service.application.begin(page)
    await arrives(page, 'Sign in')
  })

  test('are left with the applications of the same browser, wherever one signs out', async () => {
    const person = await givenPerson(service)
    const tokens = await signIn(person)
    await openAccount(service, page, person)
    await press(page, 'Sign out')
    await says('You are signed out.')
    await arrives(page, SIGN_IN)
    assert.deepEqual([await isActive(tokens.access_token), await isActive(tokens.refresh_token)], [false, false])
    const again = await signIn(person)
    await openAccount(service, page, person)
    await page.goto(new URL('oauth2/sessions/logout', service.issuer).href)
    await arrives(page, 'Sign out?')
    assert.equal(await isActive(again.access_token), true, 'nothing is confirmed')
    await press(page, 'Sign out')
    await arrives(page, 'You are signed out')
    assert.equal(await isActive(again.access_token), false)
    await isOut(page)
  })

  test('are not left by a link: whoever is signed in there alone is asked', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await page.goto(new URL('oauth2/sessions/logout', service.issuer).href)
    await arrives(page, 'Sign out?')
    await sees(page, person.email)
    await press(page, 'Stay signed in')
    await page.goto(service.account())
    await arrives(page, 'Your account')
  })

  test('list the applications that may act for one, and take the access of one away', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await press(page, 'Applications')
    await sees(page, 'No application has access to your account.')
    const tokens = await signIn(person)
    await page.goto(service.account('/applications'))
    const row = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: service.application.name }) })
    assert.equal(await row.count(), 1)
    assert.ok((await row.getByRole('list').getByRole('listitem').count()) >= 3, 'what it may do is listed')
    await press(page, `Remove access of ${service.application.name}`)
    await says('The application has no access to your account any more.')
    await sees(page, 'No application has access to your account.')
    assert.deepEqual([await isActive(tokens.access_token), await isActive(tokens.refresh_token)], [false, false])
  })

  test('change the password, which ends everything but this', async () => {
    const person = await givenPerson(service)
    const tokens = await signIn(person)
    await openAccount(service, page, person)
    const other = await openElsewhere(person)
    await press(page, 'Change your password')
    await page.getByLabel('Your password', { exact: true }).fill(OTHER_PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill(OTHER_PASSWORD)
    await press(page, 'Save password')
    await page.getByRole('alert').getByText('This is not your password.').waitFor()
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill(person.email)
    await press(page, 'Save password')
    await page.getByRole('alert').getByText('other than your email address').waitFor()
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill(OTHER_PASSWORD)
    await press(page, 'Save password')
    await says('Your password is changed. You are signed out everywhere else.')
    assert.equal(await isActive(tokens.access_token), false)
    await isOut(other)
    await service.mailbox.take(person.email, /^Your password at .* was changed/)
    await openAccount(service, other, { ...person, password: OTHER_PASSWORD })
  })

  test('change the address once the code that went there was typed', async () => {
    const [person, email] = [await givenPerson(service), newEmail()]
    await openAccount(service, page, person)
    await press(page, 'Change your email address')
    await page.getByLabel('New email address').fill(email)
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await press(page, 'Send code')
    await sees(page, `a mail with a code is under way to ${email}.`)
    const { code } = await service.mailbox.take(email, /^Confirm your new email address/)
    await page.getByLabel('Code').fill(code)
    await press(page, 'Confirm')
    await says('Your email address is changed.')
    const shown = await sees(page, email)
    assert.match(shown, /Verified/)
    await service.mailbox.take(person.email, /^Your email address at .* was changed/)
    await press(page, 'Sign out')
    await typePassword(page, person)
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor()
    await openAccount(service, page, { ...person, email })
  })

  test('change the address by the link, for who is signed in', async () => {
    const [person, email] = [await givenPerson(service), newEmail()]
    await openAccount(service, page, person)
    await page.goto(service.account('/email'))
    await page.getByLabel('New email address').fill(email)
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await press(page, 'Send code')
    const { link } = await service.mailbox.take(email, /^Confirm your new email address/)
    await page.goto(link)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await says('Your email address is changed.')
  })

  test('change the address by the link, in a browser where one has to sign in first', async () => {
    const [person, email] = [await givenPerson(service), newEmail()]
    await openAccount(service, page, person)
    const { app } = await enrolApp(service, page)
    await page.goto(service.account('/email'))
    await page.getByLabel('New email address').fill(email)
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await press(page, 'Send code')
    const { link } = await service.mailbox.take(email, /^Confirm your new email address/)
    const other = await openBrowser()
    others.push(other)
    const referrers = []
    other.page.on('request', (request) => referrers.push(request.headers().referer ?? ''))
    await other.page.goto(link)
    await typePassword(other.page, person)
    await other.page.getByLabel('Code', { exact: true }).fill(app.code())
    await press(other.page, 'Continue')
    await arrives(other.page, 'Confirm your new email address')
    await other.page.getByRole('button', { name: 'Confirm' }).click()
    await says('Your email address is changed.', other.page)
    assert.ok(!referrers.some((referrer) => referrer.includes('token=')), referrers.join())
  })

  test('change what one is called', async () => {
    const person = await givenPerson(service)
    await openAccount(service, page, person)
    await press(page, 'Change your name')
    assert.equal(await page.getByRole('link', { name: 'Account', exact: true }).getAttribute('aria-current'), 'true')
    await page.getByLabel('Name').fill('Zoë <b>Liddell</b>')
    await press(page, 'Save')
    await says('Your name is changed.')
    await sees(page, 'Zoë <b>Liddell</b>')
    await press(page, 'Change your name')
    await page.getByLabel('Name').fill('x'.repeat(65))
    await press(page, 'Save')
    await page.getByRole('alert').getByText('at most 64 characters').waitFor()
  })

  test('delete the account, with all that belonged to it', async () => {
    const person = await givenPerson(service)
    const tokens = await signIn(person)
    await openAccount(service, page, person)
    await press(page, 'Delete your account')
    await page.getByLabel('Email address of this account').fill(newEmail())
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await press(page, 'Delete for good')
    await page.getByRole('alert').getByText('Type the email address of this account.').waitFor()
    await page.getByLabel('Email address of this account').fill(person.email.toUpperCase())
    await page.getByLabel('Your password', { exact: true }).fill(PASSWORD)
    await press(page, 'Delete for good')
    await sees(page, 'Your account is deleted')
    assert.equal(await isActive(tokens.access_token), false)
    await service.mailbox.take(person.email, /^Your account at .* was deleted/)
    assert.equal((await fetch(`${service.adminUrl}/admin/identities/${person.id}`)).status, 404)
    await isOut(page)
    await typePassword(page, person)
    await page.getByRole('alert').getByText('The email address or the password is wrong.').waitFor()
  })

  test('work without JavaScript', async () => {
    const person = await givenPerson(service)
    const plain = await openElsewhere(person, { javaScriptEnabled: false })
    await press(plain, 'Change your name')
    await plain.getByLabel('Name').fill('Alice')
    await press(plain, 'Save')
    await says('Your name is changed.', plain)
    await press(plain, 'Devices')
    await press(plain, 'Sign out everywhere')
    await arrives(plain, 'Sign out everywhere?')
    await press(plain, 'Sign out everywhere')
    await says('You are signed out.', plain)
  })
})
