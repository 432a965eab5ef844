// What is written beside a program that was built. `make tables`
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const BUILDS = fileURLToPath(new URL('builds.sh', import.meta.url))

/** What is written beside a program of this content after these commands, in a folder of its own that `git` knows nothing of. */
function written(content, commands) {
  const folder = mkdtempSync(path.join(tmpdir(), 'builds-'))
  try {
    writeFileSync(path.join(folder, 'sluice'), content)
    const script = `set -euo pipefail; source '${BUILDS}'; ${commands}; tell_builds ./sluice`
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(folder) }
    const { status, stderr } = spawnSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8', env })
    assert.equal(status, 0, stderr)
    return JSON.parse(readFileSync(path.join(folder, 'sluice.build.json'), 'utf8'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('each build is told, how long it took, and whether it was cold', () => {
  const { builds, commit, sha256 } = written('a program', 'build_timed trained ./none mkdir none; build_timed optimised ./none sleep 1.1')
  assert.deepEqual(builds.map(({ name, cold }) => [name, cold]), [['trained', true], ['optimised', false]])
  assert.ok(builds[1].seconds >= 1 && builds[0].seconds <= builds[1].seconds, JSON.stringify(builds))
  assert.equal(commit, null)
  assert.equal(sha256, createHash('sha256').update('a program').digest('hex'))
})

test('the commit is told, and whether something differs from it', () => {
  const git = 'git -c user.name=n -c user.email=e@localhost'
  const committed = `git init -q . && git add sluice && ${git} commit -q -m m`
  assert.match(written('a program', `${committed}; build_timed release . true`).commit, /^[0-9a-f]{40}$/)
  assert.match(written('a program', `${committed}; echo more >>sluice; build_timed release . true`).commit, /^[0-9a-f]{40}-dirty$/)
})

test('a build that fails writes nothing', () => {
  const script = `set -euo pipefail; source '${BUILDS}'; build_timed release . false; echo not reached`
  const { status, stdout } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [1, ''])
})
