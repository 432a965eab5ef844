// What the server under test is expected to announce (`tests/interop/features.json`), and tests that run when it does.
//
// A feature that is expected and not announced fails its tests; one that is neither is skipped, and says so.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'

export const FEATURES = JSON.parse(fs.readFileSync(new URL('../interop/features.json', import.meta.url), 'utf8'))

/** The discovery document of the server at `issuer`. */
export async function discover(issuer) {
  const response = await fetch(new URL('.well-known/openid-configuration', issuer))
  assert.equal(response.status, 200)
  return response.json()
}

/** Whether the discovery document says all that makes up the feature. */
export function isAnnounced(name, metadata) {
  return known(name).announced.every((condition) => holds(condition, metadata))
}

/** Fails unless the document says what `features.json` expects of it: nothing less, and nothing more. */
export function assertAsExpected(name, metadata) {
  const missing = known(name).announced.filter((condition) => !holds(condition, metadata))
  if (known(name).expected) assert.deepEqual(missing, [], `${name} is expected, and discovery does not say so`)
  else assert.notEqual(missing.length, 0, `${name} is announced: set "expected" in tests/interop/features.json`)
}

/** Gives `feature(name, title, body)`: a test of a server that announces the feature. */
export function featuresOf(metadata) {
  return (name, title, body) => {
    if (isAnnounced(name, metadata)) return test(title, body)
    if (known(name).expected) return test(title, () => assertAsExpected(name, metadata))
    return test(title, { skip: `${name} is neither announced nor expected` }, () => {})
  }
}

function known(name) {
  assert.ok(FEATURES[name], `tests/interop/features.json does not name ${name}`)
  return FEATURES[name]
}

function holds({ member, has, is }, metadata) {
  const value = metadata[member]
  if (has !== undefined) return (value ?? []).some((each) => words(each) === words(has))
  return is === undefined ? value !== undefined : value === is
}

/** Response types are sets of words. */
function words(value) {
  return value.split(' ').sort().join(' ')
}
