// What compare.sh refuses, before it makes anything. `make tables`
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const COMPARE = fileURLToPath(new URL('compare.sh', import.meta.url))

/** How it ends with these arguments. A folder that it wanted to make would be in a place that is not there. */
function ended(...said) {
  return spawnSync(COMPARE, said, { encoding: 'utf8', env: { ...process.env, TMPDIR: '/nowhere' } })
}

test('a name that nobody has is refused', () => {
  for (const said of [['nobody'], ['hydra', 'hydra2'], ['--chek']]) {
    const { status, stdout, stderr } = ended(...said)
    assert.deepEqual([status, stdout], [2, ''])
    assert.equal(stderr, `there is no server '${said.at(-1)}': see --help\n`)
  }
})

test('a gateway is not said to be checked', () => {
  const { status, stderr } = ended('--check', 'gateway')
  assert.equal(status, 2)
  assert.match(stderr, /^gateways are not checked/)
})

test('whoever asks for help is told what there is to say', () => {
  for (const option of ['-h', '--help']) {
    const { status, stdout } = ended(option)
    assert.equal(status, 0)
    assert.match(stdout, /bench\/compare\.sh \[--check\] \[hydra\].*SECONDS_EACH.*docs\/benchmarks\.md\.\n$/s)
  }
})
