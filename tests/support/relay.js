// A wire that can be cut: a port of our own that leads to another.
import { once } from 'node:events'
import net from 'node:net'

/** Passes bytes on to `port` of this machine. `cut()` refuses and breaks connections until `mend()`. */
export async function startRelay(port) {
  const open = new Set()
  let server
  async function listen(on) {
    server = net.createServer((near) => {
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
  function cut() {
    const closed = new Promise((resolve) => server.close(resolve))
    open.forEach((socket) => socket.destroy())
    return closed
  }
  await listen(0)
  const own = server.address().port
  return { port: own, cut, mend: () => listen(own), stop: cut }
}
