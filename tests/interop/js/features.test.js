// Discovery against the list of features that the other files test.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ISSUER } from '../../support/agent.js'
import { FEATURES, assertAsExpected, discover } from '../../support/features.js'

const metadata = await discover(ISSUER)

/** Members whose every value must belong to a feature, so that nothing is announced that nobody tests. */
const COVERED = ['grant_types_supported', 'response_types_supported', 'response_modes_supported', 'token_endpoint_auth_methods_supported']

for (const [name, { server }] of Object.entries(FEATURES)) {
  if (server === undefined) test(`${name} is announced if it is expected, and expected if it is announced`, () => assertAsExpected(name, metadata))
}

for (const member of COVERED) {
  test(`every value of ${member} belongs to a feature`, () => {
    const conditions = Object.values(FEATURES).flatMap((feature) => feature.announced)
    const tested = conditions.filter((condition) => condition.member === member).map((condition) => condition.has)
    const words = (value) => value.split(' ').sort().join(' ')
    const untested = metadata[member].filter((value) => !tested.some((each) => words(each) === words(value)))
    assert.deepEqual(untested, [])
  })
}
