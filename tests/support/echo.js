// An application behind a proxy: says what reached it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Milliseconds: longer than a proxy waits for a whole answer unless it is told otherwise. */
const LATE = 16_000

/** Bytes: more than a proxy passes on. */
const LARGEST_HEAD = 65_536

/**
 * Answers 200 with method, URL, headers and body of each request, as JSON. Headers as they came: names and values in turn. `count()` requests came.
 * Where the path ends with `/late` it takes its time.
 *
 * A WebSocket is told the same in its first line, and then all that it says. Where the path ends with `/refused` it is answered as
 * what asks for any other protocol: as if it had not.
 */
export async function startEcho() {
  let count = 0
  const upgraded = new Set()
  const server = http.createServer({ maxHeaderSize: LARGEST_HEAD }, async (request, response) => {
    count += 1
    const digest = createHash('sha256')
    let length = 0
    for await (const part of request) {
      digest.update(part)
      length += part.length
    }
    if (request.url.endsWith('/late')) await sleep(LATE)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...about(request), body: { length, sha256: digest.digest('hex') } }))
  })
  server.on('upgrade', (request, socket, head) => {
    count += 1
    upgraded.add(socket)
    socket.on('close', () => upgraded.delete(socket))
    socket.on('error', () => socket.destroy())
    if (head.length > 0) socket.unshift(head)
    if (/^websocket$/i.test(request.headers.upgrade) && !request.url.endsWith('/refused')) return speak(request, socket)
    answer(request, socket)
    if (/\bclose\b/i.test(request.headers.connection)) socket.resume().end()
    else server.emit('connection', socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    count: () => count,
    stop: () => new Promise((stopped) => (server.close(stopped), server.closeAllConnections(), upgraded.forEach((socket) => socket.destroy()))),
  }
}

function about(request) {
  return { method: request.method, url: request.url, headers: pairs(request.rawHeaders) }
}

function speak(request, socket) {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64')
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`)
  socket.write(`${JSON.stringify(about(request))}\n`)
  socket.pipe(socket)
}

/** Of a request without a body. */
function answer(request, socket) {
  const text = JSON.stringify({ ...about(request), body: { length: 0, sha256: createHash('sha256').digest('hex') } })
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
}

/** A flat list of names and values as pairs; names in lower case. */
function pairs(flat) {
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index].toLowerCase(), flat[2 * index + 1]])
}
