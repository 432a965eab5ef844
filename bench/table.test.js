// What the tables of table.js make of what was measured. `make tables`
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const TABLE = fileURLToPath(new URL('table.js', import.meta.url))

/** A run as `sluice bench --json` tells it, as far as a table needs it. */
function run(cpu) {
  return { errors: 0, ops_per_second: 100, latency_ms: { p50: 1, p99: 2 }, floors: null, ...cpu }
}

/** The cells of each system: server CPU, PostgreSQL CPU, floors, ratio of the rates, ratio of CPU. */
function costs(runs) {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-table.')), 'results')
  fs.writeFileSync(file, Object.entries(runs).map(([system, result]) => `login\t64\t${system}\t${JSON.stringify(result)}\n`).join(''))
  const rows = execFileSync(process.execPath, [TABLE, file], { encoding: 'utf8' }).split('\n').filter((line) => line.startsWith('| login'))
  fs.rmSync(path.dirname(file), { recursive: true })
  return Object.fromEntries(rows.map((line) => line.split('|').map((cell) => cell.trim())).map((cells) => [cells[2], cells.slice(5, 10)]))
}

const OURS = { cpu_us: 30, server_cpu_us: 20, postgres_cpu_us: 10, floors: 3 }

test('CPU of server and database is compared where both are known', () => {
  const told = costs({ sluice: run(OURS), other: run({ cpu_us: 300, server_cpu_us: 300, postgres_cpu_us: null, floors: 30 }) })
  assert.deepEqual(told.sluice, ['20.0 µs', '10.0 µs', '3.0', '', ''])
  assert.deepEqual(told.other, ['300.0 µs', '–', '30.0', '1.00 ×', '10 ×'])
})

test('a database whose CPU is not known is not taken for nothing', () => {
  const told = costs({ sluice: run(OURS), other: run({ cpu_us: null, server_cpu_us: 300, postgres_cpu_us: null }) })
  assert.deepEqual(told.other, ['300.0 µs', '–', '–', '1.00 ×', ''])
})

test('results from before there was a sum are summed up if both are known', () => {
  const { cpu_us: _, ...before } = OURS
  const told = costs({ sluice: run(before), other: run({ server_cpu_us: 290, postgres_cpu_us: 10 }), alone: run({ server_cpu_us: 300, postgres_cpu_us: null }) })
  assert.deepEqual([told.other[4], told.alone[4]], ['10 ×', ''])
})
