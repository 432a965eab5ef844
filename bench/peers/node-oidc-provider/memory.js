// What oidc-provider stores, in memory. Its own adapter forgets all but the last one to two thousand entries, which are fewer than
// 256 browsers and their tokens need at once; this one does the same with more room.
const ROOM = 2_000_000
const entries = new Map()

function put(key, value, seconds) {
  entries.delete(key)
  entries.set(key, { value, until: seconds ? Date.now() + seconds * 1000 : Infinity })
  // The oldest goes first.
  if (entries.size > ROOM) entries.delete(entries.keys().next().value)
}

function get(key) {
  const entry = entries.get(key)
  if (entry && entry.until > Date.now()) return entry.value
  entries.delete(key)
  return undefined
}

/** One kind of things that are stored (the adapter of oidc-provider). */
export class Memory {
  constructor(kind) {
    this.kind = kind
  }

  key(id) {
    return `${this.kind}:${id}`
  }

  async upsert(id, payload, seconds) {
    put(this.key(id), payload, seconds)
    if (payload.uid && this.kind === 'Session') put(`uid:${payload.uid}`, id, seconds)
    if (payload.grantId && this.kind !== 'Grant') {
      const members = get(`grant:${payload.grantId}`) ?? new Set()
      put(`grant:${payload.grantId}`, members.add(this.key(id)), seconds)
    }
  }

  async find(id) {
    return get(this.key(id))
  }

  async findByUid(uid) {
    return get(this.key(get(`uid:${uid}`)))
  }

  async findByUserCode() {
    return undefined
  }

  async consume(id) {
    const payload = get(this.key(id))
    if (payload) payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id) {
    entries.delete(this.key(id))
  }

  async revokeByGrantId(grantId) {
    for (const key of get(`grant:${grantId}`) ?? []) entries.delete(key)
    entries.delete(`grant:${grantId}`)
  }
}
