// A wire that can be cut: a port of our own that leads to another.
import { once } from 'node:events'
import net from 'node:net'

/** Passes bytes on to `port` of this machine. Until `mend()`, `cut()` refuses and breaks connections, and `hush()` takes them and says nothing. */
export async function startRelay(port) {
  const open = new Set()
  let server
  let silent = false
  async function listen(on) {
    server = net.createServer((near) => {
      if (silent) return keep(near)
      const far = net.connect(port, '127.0.0.1')
      for (const [one, other] of [[near, far], [far, near]]) {
        open.add(one)
        one.on('error', () => other.destroy())
        one.on('close', () => (open.delete(one), other.destroy()))
        one.pipe(other)
      }
    })
    server.listen(on, '127.0.0.1')
    await once(server, 'listening')
  }
  function keep(near) {
    open.add(near)
    near.on('error', () => {})
    near.on('close', () => open.delete(near))
    near.resume()
  }
  function breakAll() {
    open.forEach((socket) => socket.destroy())
  }
  function cut() {
    const closed = new Promise((resolve) => server.close(resolve))
    breakAll()
    return closed
  }
  function hush() {
    silent = true
    breakAll()
  }
  async function mend() {
    silent = false
    breakAll()
    if (!server.listening) await listen(own)
  }
  await listen(0)
  const own = server.address().port
  return { port: own, cut, hush, mend, stop: cut }
}
