// An application behind a proxy: says what reached it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'

/** Answers 200 with method, URL, headers and body of each request, as JSON. Headers as they came: names and values in turn. `count()` requests came. */
export async function startEcho() {
  let count = 0
  const server = http.createServer(async (request, response) => {
    count += 1
    const digest = createHash('sha256')
    let length = 0
    for await (const part of request) {
      digest.update(part)
      length += part.length
    }
    const seen = {
      method: request.method,
      url: request.url,
      headers: pairs(request.rawHeaders),
      body: { length, sha256: digest.digest('hex') },
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(seen))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    count: () => count,
    stop: () => new Promise((stopped) => (server.close(stopped), server.closeAllConnections())),
  }
}

/** A flat list of names and values as pairs; names in lower case. */
function pairs(flat) {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index].toLowerCase(), flat[2 * index + 1]])
}
