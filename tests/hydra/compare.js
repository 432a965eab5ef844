// Two transcripts held against each other, and the differences that are known.
import { isDeepStrictEqual } from 'node:util'

const ABSENT = '(absent)'

/** Where the answers of two lists of steps differ: `{ step, path, hydra, sluice }`, in the order of the steps. */
export function differences(hydra, sluice) {
  const theirs = new Map(hydra.map((step) => [step.step, step]))
  const ours = new Map(sluice.map((step) => [step.step, step]))
  const found = []
  for (const step of new Set([...theirs.keys(), ...ours.keys()])) {
    const kinds = new Set()
    const tell = (path, hydra, sluice) => {
      const key = keyOf({ path, hydra, sluice })
      if (!kinds.has(key)) found.push({ step, path, hydra, sluice })
      kinds.add(key)
    }
    const [left, right] = [theirs.get(step), ours.get(step)]
    walk(left?.request ?? ABSENT, right?.request ?? ABSENT, 'request', tell)
    if (left && right) compareAnswers(left.answer, right.answer, tell)
  }
  return found
}

/** Of an answer that is a refusal at one server only, nothing else is compared. */
function compareAnswers(left, right, tell) {
  const [refusedThere, refusedHere] = [left, right].map(({ status }) => status >= 400)
  if (refusedThere === refusedHere) return walk(left, right, '', tell)
  tell('status', outcome(left), outcome(right))
}

/** A status, and the error that comes with it. */
function outcome({ status, body }) {
  return status >= 400 && typeof body?.error === 'string' ? `${status} ${body.error}` : `${status}`
}

function walk(left, right, path, tell) {
  if (isDeepStrictEqual(left, right)) return
  if (areLists(left, right)) return left.forEach((item, index) => walk(item, right[index], `${path}[]`, tell))
  if (!isObject(left) || !isObject(right)) return tell(path, left, right)
  for (const key of [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()) {
    const [a, b] = [left, right].map((side) => (Object.hasOwn(side, key) ? side[key] : ABSENT))
    walk(a, b, path ? `${path}.${key}` : key, tell)
  }
}

/** Lists of objects, as many on either side. */
function areLists(left, right) {
  return [left, right].every((side) => Array.isArray(side) && side.length === left.length && side.every(isObject))
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Differences of one kind together, as they are listed. */
export function byKind(found) {
  const kinds = new Map()
  for (const { step, reason = '', path, hydra, sluice } of found) {
    const kind = kinds.get(keyOf({ path, hydra, sluice })) ?? { reason, path, hydra, sluice, steps: [] }
    kind.steps.push(step)
    kinds.set(keyOf(kind), kind)
  }
  return [...kinds.values()]
}

/** What a difference is, wherever it is. */
function keyOf({ path, hydra, sluice }) {
  return JSON.stringify([path, hydra, sluice])
}

/** What is known: each kind of difference with its `steps`, or, where these are many, with how many `times` there are. */
export class Known {
  #kinds

  constructor(kinds) {
    this.#kinds = kinds
  }

  /** The differences among `found` that are not known, and those known for the steps that `isPlayed` takes that are not there. */
  heldAgainst(found, isPlayed) {
    const there = new Set(found.map(placed))
    const listed = this.#kinds.flatMap(({ steps = [], ...kind }) => steps.filter(isPlayed).map((step) => ({ ...kind, step })))
    const places = new Set(listed.map(placed))
    const anywhere = new Set(this.#kinds.filter((kind) => kind.times).map(keyOf))
    return {
      unknown: found.filter((one) => !places.has(placed(one)) && !anywhere.has(keyOf(one))),
      gone: listed.filter((one) => !there.has(placed(one))),
    }
  }

  /** The kinds as `found` has them: what is gone is not among them, what is new has no reason yet. */
  updated(found) {
    const { unknown } = this.heldAgainst(found, () => true)
    const there = new Set(found.map(placed))
    const counts = countsOf(found)
    const kept = this.#kinds.map((kind) => {
      if (kind.times) return { ...kind, times: counts.get(keyOf(kind)) ?? 0 }
      return { ...kind, steps: kind.steps.filter((step) => there.has(placed({ ...kind, step }))) }
    })
    return [...kept.filter((kind) => kind.times > 0 || kind.steps?.length > 0), ...byKind(unknown)]
  }

  /** Kinds that are there more or less often in `found` than is known. */
  miscounted(found) {
    const counts = countsOf(found)
    return this.#kinds.filter((kind) => kind.times && kind.times !== (counts.get(keyOf(kind)) ?? 0)).map((kind) => ({ ...kind, found: counts.get(keyOf(kind)) ?? 0 }))
  }
}

function countsOf(found) {
  return new Map(byKind(found).map((kind) => [keyOf(kind), kind.steps.length]))
}

function placed({ step, ...kind }) {
  return step + keyOf(kind)
}
