// People at the built-in pages: a server that sends mail, an application to sign in to, and what a person does there.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { TOTP } from 'otpauth'
import { startApplication } from './application.js'
import { arrives } from './chromium.js'
import { startMailbox } from './mailbox.js'
import { serve } from './sluice.js'

export const PASSWORD = 'correct horse battery staple'
export const OTHER_PASSWORD = 'another battery of horses'

/** A server, its mailbox and an application. Its host is a name: passkeys belong to names. */
export async function startIdentity({ env = {} } = {}) {
  const mailbox = await startMailbox()
  const server = await serve({
    issuer: (port) => `http://localhost:${port}/`,
    env: {
      IDENTITY_MAIL_SMTP_URL: mailbox.url,
      IDENTITY_MAIL_SMTP_FROM: 'Sluice <no-reply@example.com>',
      IDENTITY_PASSWORD_HASH_MEMORY: '64',
      IDENTITY_PASSWORD_HASH_LANES: '1',
      ...env,
    },
  })
  const application = await startApplication(server)
  return {
    ...server,
    mailbox,
    application,
    account: (path = '') => new URL(`ui/account${path}`, server.issuer).href,
    async stop() {
      await application.stop()
      await server.stop()
      await mailbox.stop()
    },
  }
}

export function newEmail() {
  return `${randomUUID()}@example.com`
}

/** A person whose address is verified, made by an administrator. */
export async function givenPerson(service, { email = newEmail(), username = 'Alice Liddell', password = PASSWORD, verified = true } = {}) {
  const answer = await fetch(`${service.adminUrl}/admin/identities`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, username, password, email_verified: verified }),
  })
  assert.equal(answer.status, 201)
  return { email, password, id: (await answer.json()).id }
}

/** Fills in the form that holds a password and sends it. */
export async function typePassword(page, { email, password = PASSWORD }) {
  if (email !== undefined) await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.locator('form:has(input[name=password]) button[type=submit]').first().click()
}

/** Signs in to the account pages. */
export async function openAccount(service, page, person) {
  await page.goto(service.account())
  await typePassword(page, person)
  await arrives(page, 'Your account')
}

/** An authenticator app, which shows a code that was not used before. */
export function authenticatorApp(secret) {
  const app = new TOTP({ secret: secret.replaceAll(' ', '') })
  let used = 0
  return {
    /** The code of the present step, or of the next one: servers allow for a clock that is fast. */
    code() {
      const step = Math.max(app.counter(), used + 1)
      used = step
      return app.generate({ timestamp: step * app.period * 1000 })
    },
  }
}

/** Adds an authenticator app on the account pages, where the person is signed in; gives it, and the recovery codes. */
export async function enrolApp(service, page, name = 'My phone') {
  await page.goto(service.account('/factors/totp'))
  const app = authenticatorApp(await page.locator('.exhibit-secret').innerText())
  await page.getByLabel('Code', { exact: true }).fill(app.code())
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Add' }).click()
  return { app, recoveryCodes: await recoveryCodes(page) }
}

/** The recovery codes that the page shows. */
export async function recoveryCodes(page) {
  const list = page.getByRole('list', { name: 'Recovery codes' })
  await list.waitFor()
  return list.getByRole('listitem').allInnerTexts()
}

/** An authenticator of the browser, which answers by itself: it knows its user and keeps passkeys. */
export async function virtualAuthenticator(page, options = {}) {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      ...options,
    },
  })
  return {
    passkeys: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    /** Whether it answers without anybody touching it. */
    answers: (enabled) => session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    verifiesUser: (isUserVerified) => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  }
}
