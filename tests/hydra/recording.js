// The files of this suite: what Hydra answered, and the differences that are known.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const RECORDING = path.join(HERE, 'hydra-2.3.0.json')
const DIFFERENCES = path.join(HERE, 'differences.json')

/** Steps by scenario. */
export function readRecording() {
  return JSON.parse(fs.readFileSync(RECORDING, 'utf8'))
}

export function readDifferences() {
  return JSON.parse(fs.readFileSync(DIFFERENCES, 'utf8'))
}

/** A line for the request of a step and one for its answer, so that a change is a change of lines. */
export function writeRecording(scenarios) {
  const step = ({ step, request, answer }) => `    {"step": ${JSON.stringify(step)},\n     "request": ${JSON.stringify(request)},\n     "answer": ${JSON.stringify(answer)}}`
  const scenario = ([name, steps]) => `  ${JSON.stringify(name)}: [\n${steps.map(step).join(',\n')}\n  ]`
  fs.writeFileSync(RECORDING, `{\n${Object.entries(scenarios).map(scenario).join(',\n')}\n}\n`)
}

/** A line for each kind. */
export function writeDifferences(kinds) {
  fs.writeFileSync(DIFFERENCES, `[\n${kinds.map((kind) => `  ${JSON.stringify(kind)}`).join(',\n')}\n]\n`)
}
