// A mail server that keeps what it is given: a real SMTP server on a free port, and the mails that arrive, taken apart.
import { once } from 'node:events'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'

const PATIENCE = 15_000

/** Starts one. `url` is what `identity.mail.smtp.url` should be. */
export async function startMailbox() {
  const mails = []
  const waiting = new Set()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream, session, done) {
      take(stream, session).then((mail) => {
        mails.push(mail)
        for (const look of waiting) look()
        done()
      }, done)
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${server.server.address().port}?starttls=never`,
    /** The mails to this address so far, the oldest first. */
    to: (address) => mails.filter((mail) => mail.to.includes(address)),
    /** Waits for a mail to this address whose subject matches, and takes it out. */
    take: (address, subject) => awaited(mails, waiting, (mail) => mail.to.includes(address) && subject.test(mail.subject), `${subject} to ${address}`),
    stop: () => new Promise((closed) => server.close(closed)),
  }
}

/** One mail: to whom the envelope says, its subject, its text, and the code and the link in it. */
async function take(stream, session) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  const { subject, text, html } = await PostalMime.parse(Buffer.concat(chunks))
  return {
    to: session.envelope.rcptTo.map(({ address }) => address),
    subject,
    text,
    html,
    code: text.match(/^ {4}(\S+)\s*$/m)?.[1],
    link: text.match(/^https?:\/\/\S+$/m)?.[0],
  }
}

function awaited(mails, waiting, isWanted, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => reject(new Error(`no mail came: ${what}`))), PATIENCE)
    const look = () => {
      const at = mails.findIndex(isWanted)
      if (at >= 0) settle(() => resolve(mails.splice(at, 1)[0]))
    }
    const settle = (answer) => {
      clearTimeout(timer)
      waiting.delete(look)
      answer()
    }
    waiting.add(look)
    look()
  })
}
