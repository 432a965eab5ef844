// `sluice bench` at a server of Hydra's API that is not Sluice: what is measured there works, and is counted.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const { SLUICE_BIN, SLUICE_ISSUER, SLUICE_ADMIN_URL, DATABASE } = process.env
// Its keys are RSA, unless somebody makes others.
const SCENARIOS = [
  ['login', '--id-token', 'RS256'],
  ['client-credentials'],
  ['introspect'],
]

for (const scenario of SCENARIOS) {
  const name = scenario.join(' ')
  test(`${name} is measured`, () => {
    const where = ['--public-url', SLUICE_ISSUER, '--admin-url', SLUICE_ADMIN_URL, '--database-dsn', DATABASE]
    const few = ['-n', '20', '-c', '2', '--warm-up', '0s', '--no-floor', '--json']
    const { status, stdout, stderr } = spawnSync(SLUICE_BIN, ['bench', ...scenario, ...where, ...few], { encoding: 'utf8' })
    assert.equal(status, 0, `${stderr}\n${stdout}`)
    const report = JSON.parse(stdout)
    assert.deepEqual([report.scenario, report.operations, report.errors], [scenario[0], 20, 0])
    assert.ok(report.latency_ms.p50 > 0 && report.ops_per_second > 0, stdout)
    assert.equal(typeof report.wal_bytes, 'number', 'PostgreSQL tells')
  })
}
