#!/usr/bin/env node
// Medians and ratios of what bench/compare.sh measured, as tables for docs/benchmarks.md: table.js RESULTS
//
// A line of the file: scenario, connections, system and what `sluice bench --json` said (null: it failed), or `gateway` and a row of
// tests/load/gateway.sh; tabs between.
import fs from 'node:fs'

const SLUICE = 'sluice'
/** What a proxy costs that does not look at tokens. */
const PLAIN = 'nginx proxy_pass, a token, no check'
const GATEWAY_ROW = /^(?<label>.+?)\s+(?<connections>\d+)\s+(?<rate>[\d.]+)\/s\s+p50\s+(?<p50>[\d.]+) ms\s+p99\s+(?<p99>[\d.]+) ms\s+refused (?<refused>\d+), broken (?<broken>\d+)(?<cpu>.*)$/
const CPU = /(\w+) ([\d.]+) µs/g

function median(numbers) {
  const sorted = numbers.filter((one) => Number.isFinite(one)).sort((a, b) => a - b)
  if (sorted.length === 0) return undefined
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

function grouped(entries, keyOf) {
  const groups = new Map()
  for (const entry of entries) groups.set(keyOf(entry), [...(groups.get(keyOf(entry)) ?? []), entry])
  return groups
}

function shown(number, digits = 1) {
  if (number === undefined) return '–'
  return number.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function times(one, other) {
  if (!one || !other) return ''
  return `${shown(one / other, one / other < 10 ? 2 : 0)} ×`
}

function row(cells) {
  return `| ${cells.join(' | ')} |`
}

function table(head, rows) {
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)].join('\n')
}

/** CPU of server and database. Nothing unless both are known; it was not told before `cpu_us`, whether there is a database elsewhere. */
function together({ cpu_us: told, server_cpu_us: server, postgres_cpu_us: postgres }) {
  if (told !== undefined) return told ?? NaN
  return (server ?? NaN) + (postgres ?? NaN)
}

/** One system in one scenario: the medians of its rounds. */
function summary(rounds) {
  const results = rounds.map(({ result }) => result).filter(Boolean)
  const of = (pick) => median(results.map(pick))
  return {
    failed: rounds.length - results.length,
    errors: results.reduce((sum, one) => sum + one.errors, 0),
    rate: of((one) => one.ops_per_second),
    p50: of((one) => one.latency_ms.p50),
    p99: of((one) => one.latency_ms.p99),
    server: of((one) => one.server_cpu_us ?? NaN),
    postgres: of((one) => one.postgres_cpu_us ?? NaN),
    together: of(together),
    floors: of((one) => (Number.isNaN(together(one)) ? NaN : (one.floors ?? NaN))),
  }
}

function serverRows(lines) {
  const rows = []
  for (const one of grouped(lines, ({ scenario, connections }) => `${scenario}\t${connections}`).values()) {
    const systems = [...grouped(one, ({ system }) => system)].map(([system, rounds]) => [system, summary(rounds)])
    const ours = systems.find(([system]) => system === SLUICE)?.[1]
    for (const [system, its] of systems) {
      const wrong = [its.errors && `${its.errors} errors`, its.failed && `${its.failed} runs failed`].filter(Boolean).join(', ')
      const ratios = system === SLUICE || !ours ? ['', ''] : [times(ours.rate, its.rate), times(its.together, ours.together)]
      rows.push([
        `${one[0].scenario}, ${one[0].connections}`,
        wrong ? `${system} (${wrong})` : system,
        `${shown(its.rate, 0)}/s`,
        `${shown(its.p50)}, ${shown(its.p99)} ms`,
        `${shown(its.server)} µs`,
        its.postgres === undefined ? '–' : `${shown(its.postgres)} µs`,
        shown(its.floors),
        ...ratios,
      ])
    }
  }
  return rows
}

/** The proxy itself, which its row names first, and all that its row counts but the application behind it. */
function gatewayRow(text) {
  const found = GATEWAY_ROW.exec(text)?.groups
  if (!found) return undefined
  const parts = [...found.cpu.matchAll(CPU)].map(([, name, micros]) => [name, Number(micros)])
  const together = parts.filter(([name]) => name !== 'backend').reduce((sum, [, micros]) => sum + micros, 0)
  const numbers = Object.fromEntries(['rate', 'p50', 'p99', 'refused', 'broken'].map((name) => [name, Number(found[name])]))
  return { label: found.label, connections: Number(found.connections), proxy: parts[0]?.[1], together, ...numbers }
}

function gatewayRows(measured) {
  const groups = [...grouped(measured, ({ label, connections }) => `${label}\t${connections}`).values()].map((rounds) => {
    const of = (name) => median(rounds.map((one) => one[name]))
    const wrong = rounds.reduce((sum, one) => sum + one.refused + one.broken, 0)
    return { ...rounds[0], rate: of('rate'), p50: of('p50'), p99: of('p99'), proxy: of('proxy'), together: of('together'), wrong }
  })
  return groups.map((one) => {
    const plain = groups.find(({ label, connections }) => label === PLAIN && connections === one.connections)
    return [
      `${one.label}${one.wrong ? ` (${one.wrong} errors)` : ''}`,
      String(one.connections),
      `${shown(one.rate, 0)}/s`,
      `${shown(one.p50)}, ${shown(one.p99)} ms`,
      `${shown(one.proxy)} µs`,
      `${shown(one.together)} µs`,
      plain ? times(one.together, plain.together) : '',
    ]
  })
}

const lines = fs.readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean).map((line) => line.split('\t'))
const servers = lines
  .filter(([scenario]) => scenario !== 'gateway')
  .map(([scenario, connections, system, result]) => ({ scenario, connections, system, result: [JSON.parse(result)].flat()[0] }))
const gateways = lines.filter(([scenario]) => scenario === 'gateway').map(([, text]) => gatewayRow(text)).filter(Boolean)

if (servers.length > 0) {
  const head = ['scenario, connections', 'server', 'rate', 'p50, p99', 'server CPU', 'PostgreSQL CPU', 'floors', 'Sluice is so much faster', 'and takes so much less CPU']
  console.log(`\n${table(head, serverRows(servers))}`)
}
if (gateways.length > 0) {
  const head = ['gateway', 'connections', 'rate', 'p50, p99', 'its CPU', 'with those it asks', 'in CPU of nginx that does not check']
  console.log(`\n${table(head, gatewayRows(gateways))}`)
}
