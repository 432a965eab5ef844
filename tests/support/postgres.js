// A PostgreSQL of our own: made in a temporary folder, fsync on, gone afterwards.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { atExit, onFreePorts } from './process.js'
import { removeFolder, temporaryFolder } from './sluice.js'

/** Starts a cluster with two empty databases; `dsn` and `secondDsn` lead to them, `stop` ends and removes it. */
export function privatePostgres() {
  return onFreePorts(1, postgresAt)
}

function postgresAt(port) {
  const folder = temporaryFolder('postgres')
  const password = randomBytes(16).toString('hex')
  const data = path.join(folder, 'data')
  const passwordFile = path.join(folder, 'password')
  fs.writeFileSync(passwordFile, password, { mode: 0o600 })
  if (asRoot()) execFileSync('chown', ['-R', 'postgres', folder])
  run('initdb', ['-D', data, '-U', 'sluice', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '-E', 'UTF8', '--locale=C'])
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=on`
  const log = path.join(folder, 'log')
  try {
    run('pg_ctl', ['-D', data, '-o', options, '-l', log, '-w', 'start'])
  } catch (error) {
    throw new Error(`PostgreSQL does not start: ${fs.readFileSync(log, { encoding: 'utf8', flag: 'a+' })}`, { cause: error })
  }
  const stop = () => run('pg_ctl', ['-D', data, '-m', 'immediate', '-w', 'stop'])
  const stopped = atExit(stop)
  const [dsn, secondDsn] = ['sluice', 'second'].map((database) => {
    run('createdb', ['-h', folder, '-p', String(port), '-U', 'sluice', database], { PGPASSWORD: password })
    return `postgres://sluice:${password}@127.0.0.1:${port}/${database}?sslmode=disable`
  })
  return {
    dsn,
    secondDsn,
    async stop() {
      stopped()
      stop()
      removeFolder(folder)
    },
  }
}

/** PostgreSQL refuses to run as root: then its programs run as the user that its package makes. */
function run(program, args, env = {}) {
  const file = path.join(programs(), program)
  const [command, ...rest] = asRoot() ? ['runuser', '-u', 'postgres', '--', file, ...args] : [file, ...args]
  execFileSync(command, rest, { cwd: '/', env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
}

function asRoot() {
  return process.getuid() === 0
}

/** The newest installed PostgreSQL; Debian keeps its programs out of the PATH. */
function programs() {
  const debian = '/usr/lib/postgresql'
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian).sort((a, b) => b - a) : []
  const found = versions.map((version) => path.join(debian, version, 'bin')).find((bin) => fs.existsSync(path.join(bin, 'initdb')))
  return found ?? path.dirname(execFileSync('sh', ['-c', 'command -v initdb'], { encoding: 'utf8' }).trim())
}
