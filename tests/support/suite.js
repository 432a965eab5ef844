// Runs test runners one after the other, shows what they print, and adds up what they counted.
import { spawn } from 'node:child_process'
import { own } from './process.js'

const COUNTS = {
  node: [/^ℹ pass (\d+)$/gm, /^ℹ (?:fail|cancelled) (\d+)$/gm],
  pytest: [/(\d+) passed/g, /(\d+) (?:failed|error)/g],
  java: [/^\[ +(\d+) tests successful +\]$/gm, /^\[ +(\d+) tests failed +\]$/gm],
  go: [/^\s*--- PASS(:)/gm, /^\s*--- FAIL(:)|^FAIL\t.*\[(?:build|setup) failed\]/gm],
}

/** Runs one command; gives how many tests passed and failed. A runner that fails without a count counts as one. */
export async function runSuite(title, runner, command, args, { cwd, env = {} } = {}) {
  console.log(`\n== ${title}`)
  const { output, code } = await new Promise((resolve) => {
    let output = ''
    const child = own(spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] }))
    const show = (to) => (text) => {
      output += text
      to.write(text)
    }
    child.stdout.setEncoding('utf8').on('data', show(process.stdout))
    child.stderr.setEncoding('utf8').on('data', show(process.stderr))
    child.once('error', (error) => resolve({ output: String(error), code: 1 }))
    child.once('close', (code) => resolve({ output, code }))
  })
  const [passed, failed] = COUNTS[runner].map((pattern) => total(output, pattern))
  const broken = failed === 0 && (code !== 0 || passed === 0)
  if (broken) console.log(`${title}: the runner ended with ${code} and ${passed} tests passed`)
  return { passed, failed: broken ? 1 : failed }
}

function total(output, pattern) {
  return [...output.matchAll(pattern)].reduce((sum, match) => sum + (Number(match[1]) || 1) * (match[1] === '0' ? 0 : 1), 0)
}

/** Prints the last line of a run and sets the exit code. */
export function conclude(name, results) {
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const failed = results.reduce((sum, result) => sum + result.failed, 0)
  console.log(`\n${name}: ${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}
