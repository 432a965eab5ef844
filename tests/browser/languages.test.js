// The pages in the language of whoever reads them, in headless Chromium.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { arrives, openBrowser, press } from '../support/chromium.js'
import { startIdentity } from '../support/identity.js'
import { removeFolder, temporaryFolder } from '../support/sluice.js'

let service, folder, browser, page, violations

/** A browser whose person reads this language. */
async function reads(locale) {
  browser = await openBrowser({ locale })
  page = browser.page
  page.on('console', (message) => /content security policy/i.test(message.text()) && violations.push(message.text()))
  page.on('pageerror', (error) => violations.push(String(error)))
}

const language = () => page.locator('html').evaluate(({ lang, dir }) => ({ lang, dir }))

describe('languages', () => {
  before(async () => {
    folder = temporaryFolder('languages')
    fs.writeFileSync(path.join(folder, 'he.yaml'), '"Sign in": "כניסה"\n"Show {field}": "הצג {field}"\n')
    service = await startIdentity({ env: { IDENTITY_PAGES_TRANSLATIONS: folder } })
  })
  after(async () => {
    await service?.stop()
    removeFolder(folder)
  })
  beforeEach(() => {
    violations = []
  })
  afterEach(async () => {
    await browser?.close()
    assert.deepEqual(violations, [])
  })

  test('a page, and what its script says, is in the language of the browser', async () => {
    await reads('de-AT')
    await service.application.begin(page)
    await arrives(page, 'Anmelden')
    assert.deepEqual(await language(), { lang: 'de', dir: '' })
    await press(page, 'Passwort anzeigen')
    assert.equal(await page.getByLabel('Passwort', { exact: true }).getAttribute('type'), 'text')
    await press(page, 'Passwort verbergen')
  })

  test('an application says in which language its users are asked, up to where they come from', async () => {
    await reads('de')
    await service.application.begin(page, { ui_locales: 'fr-CA en' })
    await arrives(page, 'Se connecter')
    await press(page, 'Créer un compte')
    await arrives(page, 'Créez votre compte')
    assert.equal((await language()).lang, 'fr')
  })

  test('a language from right to left is laid out so', async () => {
    await reads('he-IL')
    await service.application.begin(page)
    await arrives(page, 'כניסה')
    assert.deepEqual(await language(), { lang: 'he', dir: 'rtl' })
    const field = await page.getByLabel('Password', { exact: true }).boundingBox()
    const button = await page.getByRole('button', { name: 'הצג Password' }).boundingBox()
    assert.ok(button.x - field.x < field.width / 2, 'the button stands at the end of the field, which is on the left')
  })
})
