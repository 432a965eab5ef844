// What every page must be for everybody: readable in light and dark, narrow and enlarged, by ear and by keyboard.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'

const DESK = { width: 1280, height: 800 }
const PHONE = { width: 360, height: 740 }
/** What is left of the width of a desk at 200 % and 400 % (WCAG 2.2 §1.4.4, §1.4.10). */
const ENLARGED = [{ width: 640, height: 400 }, { width: 320, height: 400 }]
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Fails unless the page is as it must be, in every respect; `name` is what failures and pictures call it. */
export async function looksRight(page, name) {
  await isOutlined(page, name)
  await page.evaluate(axe.source)
  for (const [colorScheme, rules] of [['light', TAGS], ['dark', { type: 'rule', values: ['color-contrast'] }]]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await isAccessible(page, rules, `${name}, ${colorScheme}`)
    await picture(page, `${name}, ${colorScheme}`)
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  for (const size of [PHONE, ...ENLARGED]) {
    await page.setViewportSize(size)
    await fits(page, `${name}, ${size.width} pixels wide`)
    if (size === PHONE) await picture(page, `${name}, phone`)
  }
  await page.setViewportSize(DESK)
  await fits(page, `${name}, with letters of twice the size`, '200%')
  await showsFocus(page, name)
}

async function isOutlined(page, name) {
  assert.equal(await page.getByRole('heading', { level: 1 }).count(), 1, `${name}: one main heading`)
  assert.match(await page.title(), / · Sluice$/, `${name}: title`)
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll('input:not([type=hidden])')].filter((input) => !input.labels?.length).map((input) => input.name),
  )
  assert.deepEqual(unnamed, [], `${name}: fields without a label`)
}

async function isAccessible(page, rules, name) {
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly }), rules)
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}\n${node.failureSummary}`))
  assert.deepEqual(found, [], name)
}

async function fits(page, name, letters = '') {
  const wide = await page.evaluate((size) => {
    const root = document.documentElement
    root.style.fontSize = size
    const out = [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > root.clientWidth + 0.5)
    const found = out.map((element) => `${element.tagName} ${element.className}`)
    const tooWide = root.scrollWidth > root.clientWidth
    root.style.fontSize = ''
    return tooWide ? ['the page', ...found] : found
  }, letters)
  assert.deepEqual(wide, [], `${name}: too wide`)
}

/** Walks around the page by the Tab key: everything can be reached, and can be seen to be. */
async function showsFocus(page, name) {
  const expected = await page.evaluate(() => {
    const all = document.querySelectorAll('a[href], button:not([tabindex="-1"]), summary, input:not([type=hidden])')
    return [...all].filter((element) => element.checkVisibility({ visibilityProperty: true })).length
  })
  const reached = new Set()
  for (let presses = 0; presses <= expected; presses += 1) {
    await page.keyboard.press('Tab')
    const { where, what, outline } = await page.evaluate(focused)
    if (what === null) continue // between the last and the first
    assert.ok(outline >= 2, `${name}: ${what} does not show that it has the focus`)
    reached.add(where)
  }
  assert.equal(reached.size, expected, `${name}: not everything can be reached by keyboard`)
}

/** In the page: what has the focus, and how thick the line around it is. */
function focused() {
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  return {
    where: [...document.querySelectorAll('*')].indexOf(element),
    what: element === document.body ? null : `${element.tagName} ${element.textContent}`.trim(),
    outline: outlineStyle === 'solid' ? parseFloat(outlineWidth) : 0,
  }
}

/** Keeps a picture in the folder that `PICTURES` names, if it does. */
async function picture(page, name) {
  const folder = process.env.PICTURES
  if (!folder) return
  fs.mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: path.join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.png`), fullPage: true })
}
