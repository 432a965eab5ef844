// Each scenario against the server that SLUICE_ISSUER and SLUICE_ADMIN_URL name, held against what Hydra answered.
//
// SIDE=hydra: that server is Hydra, and has to answer as it did; with RECORD=1 its answers are written down instead. UPDATE=1: this run
// fails as it would, and afterwards differences.json has what it found; what is new has to be given a reason there.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { after, test } from 'node:test'
import { Known, byKind, differences } from './compare.js'
import { readDifferences, readRecording, writeDifferences, writeRecording } from './recording.js'
import { SCENARIOS } from './scenarios/index.js'
import { play } from './transcript.js'

/** How many steps all scenarios have. One more or less is a change of this line. */
const STEPS = 747

const SERVERS = { publicUrl: new URL(process.env.SLUICE_ISSUER).origin, adminUrl: process.env.SLUICE_ADMIN_URL }
const IS_HYDRA = process.env.SIDE === 'hydra'
const RECORDS = IS_HYDRA && process.env.RECORD === '1'

const recording = RECORDS ? {} : readRecording()
const listed = IS_HYDRA ? [] : readDifferences()
const known = new Known(listed)
const played = {}
const found = []

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  test(name, async () => {
    const isOwn = (step) => step.startsWith(`${name}: `)
    played[name] = (await play(scenario, SERVERS)).map((step) => ({ ...step, step: `${name}: ${step.step}` }))
    if (RECORDS) return
    const here = differences(recording[name] ?? [], played[name])
    found.push(...here)
    const { unknown, gone } = known.heldAgainst(here, isOwn)
    assert.equal(unknown.length + gone.length, 0, told(unknown, gone))
  })
}

test('no step is lost', () => {
  assert.deepEqual(Object.keys(RECORDS ? played : recording), Object.keys(SCENARIOS))
  assert.equal(Object.values(played).flat().length, STEPS)
})

test('what differs in many places does so as often as is known', () => {
  assert.deepEqual(known.miscounted(found), [])
})

/** `docs/FILE.md: a part of a sentence there`. */
const QUOTE = /^(?:DEFECT: )?(docs\/\S+\.md): (.*)$/

test('a reason that quotes a document stands there', () => {
  for (const [, file, words] of listed.map(({ reason }) => reason.match(QUOTE)).filter(Boolean)) {
    const text = fs.readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').replace(/\s+/g, ' ')
    assert.ok(text.includes(words), `${file} does not say: ${words}`)
  }
})

test('each listed difference has a reason and belongs to a scenario', () => {
  for (const { reason, path, steps = [] } of listed) {
    assert.ok(reason, `${path} has no reason`)
    for (const step of steps) assert.ok(SCENARIOS[step.split(': ')[0]], `there is no scenario for ${step}`)
  }
})

after(() => {
  if (RECORDS) writeRecording(played)
  const isWhole = Object.keys(played).length === Object.keys(SCENARIOS).length
  if (process.env.UPDATE === '1' && !IS_HYDRA && isWhole) writeDifferences(known.updated(found))
})

/** The differences as differences.json would have them. */
function told(unknown, gone) {
  const lines = (some) => byKind(some).map((kind) => JSON.stringify(kind)).join('\n')
  return [`${unknown.length} differences that are not listed:`, lines(unknown), `${gone.length} listed ones that are not there:`, lines(gone)].join('\n')
}
