// A browser without a screen: it keeps cookies, and goes one step at a time, so that each can be written down.

export class Browser {
  #cookies = new Map()

  constructor(transcript) {
    this.transcript = transcript
  }

  /** Opens `url`, a URL or a path of the public port. */
  async open(step, url, { query, headers = {}, method = 'GET', form } = {}) {
    const target = new URL(url, this.transcript.publicUrl)
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const sent = cookie ? { ...headers, cookie } : headers
    const answer = await this.transcript.send(step, target.origin, `${method} ${target.pathname}${target.search}`, { query, headers: sent, form })
    for (const line of answer.headers.getSetCookie()) this.#keep(line)
    return answer
  }

  #keep(line) {
    const [pair, ...attributes] = line.split(/; */)
    const name = pair.slice(0, pair.indexOf('='))
    const gone = attributes.some((attribute) => {
      const [key, value] = attribute.split('=')
      return (/^max-age$/i.test(key) && Number(value) <= 0) || (/^expires$/i.test(key) && Date.parse(value) <= Date.now())
    })
    if (gone) this.#cookies.delete(name)
    else this.#cookies.set(name, pair.slice(pair.indexOf('=') + 1))
  }
}
