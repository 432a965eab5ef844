// Headless Chromium with a profile that nobody has used, and what a person does with a page.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { after } from 'node:test'
import { chromium } from 'playwright-core'
import { removeFolder, temporaryFolder } from './sluice.js'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const PROGRAM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const PATIENCE = 30_000

let shared

after(async () => (await shared)?.close())

/** A browser of one person: `page` is its first tab. People share a program, and nothing that it keeps. */
export async function openBrowser(options = {}) {
  shared ??= chromium.launch({ executablePath: PROGRAM, args: FLAGS })
  const context = await (await shared).newContext(options)
  context.setDefaultTimeout(PATIENCE)
  return { context, page: await context.newPage(), close: () => context.close() }
}

/**
 * The same with a program of its own, started with `flags`.
 *
 * `thirdPartyCookies` allows cookies in frames of other sites, which Debian's Chromium blocks and others do not.
 */
export async function startBrowser({ flags = [], thirdPartyCookies = false, ...options } = {}) {
  const profile = temporaryFolder('chromium')
  if (thirdPartyCookies) {
    const preferences = { profile: { cookie_controls_mode: 0, block_third_party_cookies: false } }
    fs.mkdirSync(path.join(profile, 'Default'))
    fs.writeFileSync(path.join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))
  }
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: PROGRAM,
    args: [...FLAGS, ...flags],
    ...options,
  })
  browser.setDefaultTimeout(PATIENCE)
  return {
    context: browser,
    page: browser.pages()[0] ?? (await browser.newPage()),
    async close() {
      await browser.close()
      removeFolder(profile)
    },
  }
}

/** Presses the link or button with this name. */
export async function press(page, name) {
  await page.getByRole('link', { name }).or(page.getByRole('button', { name })).first().click()
}

/** Clicks the button twice, over a line so slow that the second click finds the same page; the paths that are posted to from then on. */
export async function pressTwice(page, name) {
  await page.waitForLoadState()
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', { offline: false, latency: 2000, downloadThroughput: -1, uploadThroughput: -1 })
  const paths = []
  page.on('request', (request) => {
    if (request.method() === 'POST') paths.push(new URL(request.url()).pathname)
  })
  const box = await page.getByRole('button', { name }).boundingBox()
  const middle = [box.x + box.width / 2, box.y + box.height / 2]
  await page.mouse.click(...middle)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await page.mouse.click(...middle)
  return paths
}

/** Waits until the page with this main heading is there. */
export function arrives(page, heading) {
  return page.getByRole('heading', { level: 1, name: heading, exact: typeof heading === 'string' }).waitFor()
}

/** Waits until the page shows this text. */
export async function sees(page, text) {
  const deadline = Date.now() + PATIENCE
  let shown = ''
  while (Date.now() < deadline) {
    shown = await page.locator('body').innerText().catch(() => '')
    if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return shown
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.fail(`${page.url().split('?')[0]} never showed ${text}, but:\n${shown}`)
}
