//! One connection, command by command (RFC 5321 §4.1.1).

use std::io;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::failures::SmtpStep;
use super::received::{Delivery, ReceivedMail};
use super::{Shared, SmtpTls};

/// What a line without an end consists of.
const BABBLE: [u8; 1024] = [b'x'; 1024];

trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

type Stream = BufReader<Box<dyn Duplex>>;

struct Session {
    stream: Stream,
    shared: Arc<Shared>,
    encrypted: bool,
    user: Option<String>,
    mail: Option<Transaction>,
}

/// What has been said of a mail so far.
#[derive(Default)]
struct Transaction {
    from: String,
    to: Vec<String>,
    smtp_utf8: bool,
}

/// What comes after a command.
enum Next {
    Command,
    Tls,
    End,
}

pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let encrypted = shared.options.tls == SmtpTls::Implicit;
    let stream: Box<dyn Duplex> = if encrypted {
        Box::new(TlsAcceptor::from(shared.tls.clone()).accept(stream).await?)
    } else {
        Box::new(stream)
    };
    let stream = BufReader::new(stream);
    Session { stream, shared, encrypted, user: None, mail: None }.talk().await
}

impl Session {
    async fn talk(mut self) -> io::Result<()> {
        self.not_hanging().await;
        self.not_babbling().await?;
        if self.refused(SmtpStep::Greeting, "").await? {
            return Ok(());
        }
        self.reply("220 testkit ESMTP").await?;
        loop {
            let Some(line) = self.line().await? else { return Ok(()) };
            self.not_hanging().await;
            self.not_babbling().await?;
            match self.command(&line).await? {
                Next::Command => {}
                Next::Tls => self = self.encrypt().await?,
                Next::End => return Ok(()),
            }
        }
    }

    async fn command(&mut self, line: &str) -> io::Result<Next> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" => self.hello().await?,
            "HELO" => self.reply("250 testkit").await?,
            "STARTTLS" if self.offers_tls() => {
                let injected = self.shared.options.injected;
                self.stream.write_all(format!("220 go on\r\n{injected}").as_bytes()).await?;
                self.stream.flush().await?;
                return Ok(Next::Tls);
            }
            "AUTH" => self.log_in(rest).await?,
            "MAIL" => self.sender(rest).await?,
            "RCPT" => self.recipient(rest).await?,
            "DATA" => return self.text().await,
            "RSET" => {
                self.mail = None;
                self.reply("250 OK").await?;
            }
            "NOOP" => self.reply("250 OK").await?,
            "QUIT" => {
                self.reply("221 bye").await?;
                return Ok(Next::End);
            }
            _ => self.reply("502 5.5.1 not here").await?,
        }
        Ok(Next::Command)
    }

    async fn hello(&mut self) -> io::Result<()> {
        self.mail = None;
        let options = self.shared.options.clone();
        let mut lines = vec!["testkit".to_owned(), "8BITMIME".to_owned()];
        if options.smtp_utf8 {
            lines.push("SMTPUTF8".to_owned());
        }
        if self.offers_tls() {
            lines.push("STARTTLS".to_owned());
        }
        if options.login.is_some() {
            lines.push(format!("AUTH {}", options.mechanisms));
        }
        for line in &lines {
            self.reply(&format!("250-{line}")).await?;
        }
        self.reply("250 ENHANCEDSTATUSCODES").await
    }

    fn offers_tls(&self) -> bool {
        self.shared.options.tls == SmtpTls::StartTls && !self.encrypted
    }

    /// Nothing that was said before counts (RFC 3207 §4.2).
    async fn encrypt(self) -> io::Result<Self> {
        let Self { stream, shared, .. } = self;
        let accepting = TlsAcceptor::from(shared.tls.clone()).accept(stream.into_inner());
        let stream: Box<dyn Duplex> = Box::new(accepting.await?);
        Ok(Self { stream: BufReader::new(stream), shared, encrypted: true, user: None, mail: None })
    }

    /// `AUTH PLAIN` (RFC 4616) and `AUTH LOGIN`.
    async fn log_in(&mut self, rest: &str) -> io::Result<()> {
        let (mechanism, initial) = rest.split_once(' ').unwrap_or((rest, ""));
        let presented = match mechanism.to_ascii_uppercase().as_str() {
            "PLAIN" => {
                let response = match initial {
                    "" => self.ask("").await?,
                    initial => decoded(initial),
                };
                let mut fields = response.splitn(3, '\0').skip(1).map(str::to_owned);
                fields.next().zip(fields.next())
            }
            "LOGIN" => Some((self.ask("Username:").await?, self.ask("Password:").await?)),
            _ => return self.reply("504 5.5.4 not here").await,
        };
        if self.refused(SmtpStep::Login, "").await? {
            return Ok(());
        }
        if presented.is_none() || presented != self.shared.options.login {
            return self.reply("535 5.7.8 wrong").await;
        }
        self.user = presented.map(|(user, _)| user);
        self.reply("235 2.7.0 welcome").await
    }

    async fn ask(&mut self, challenge: &str) -> io::Result<String> {
        self.reply(&format!("334 {}", STANDARD.encode(challenge))).await?;
        Ok(decoded(&self.line().await?.unwrap_or_default()))
    }

    async fn sender(&mut self, rest: &str) -> io::Result<()> {
        if self.shared.options.login.is_some() && self.user.is_none() {
            return self.reply("530 5.7.0 who are you?").await;
        }
        let Some((from, parameters)) = path(rest, "FROM:") else {
            return self.reply("501 5.5.4 syntax").await;
        };
        if self.refused(SmtpStep::Sender, &from).await? {
            return Ok(());
        }
        let smtp_utf8 = parameters.split(' ').any(|parameter| parameter.eq_ignore_ascii_case("SMTPUTF8"));
        if smtp_utf8 && !self.shared.options.smtp_utf8 {
            return self.reply("555 5.5.4 parameter").await;
        }
        self.mail = Some(Transaction { from, to: Vec::new(), smtp_utf8 });
        self.reply("250 2.1.0 OK").await
    }

    async fn recipient(&mut self, rest: &str) -> io::Result<()> {
        let Some((to, _)) = path(rest, "TO:") else { return self.reply("501 5.5.4 syntax").await };
        if self.refused(SmtpStep::Recipient, &to).await? {
            return Ok(());
        }
        let from = self.mail.as_ref().map(|mail| mail.from.clone()).unwrap_or_default();
        if self.refused(SmtpStep::SenderAtRecipient, &from).await? {
            return Ok(());
        }
        let Some(mail) = &mut self.mail else { return self.reply("503 5.5.1 MAIL first").await };
        if !to.is_ascii() && !mail.smtp_utf8 {
            return self.reply("553 5.6.7 not ASCII").await;
        }
        mail.to.push(to);
        self.reply("250 2.1.5 OK").await
    }

    async fn text(&mut self) -> io::Result<Next> {
        let Some(mail) = self.mail.take().filter(|mail| !mail.to.is_empty()) else {
            self.reply("503 5.5.1 RCPT first").await?;
            return Ok(Next::Command);
        };
        self.reply("354 go on").await?;
        if self.shared.failures.drops_now() {
            self.line_of_bytes().await?;
            return Ok(Next::End);
        }
        let Some(raw) = self.lines_to_the_dot().await? else { return Ok(Next::End) };
        self.not_hanging().await;
        if self.refused(SmtpStep::Text, &mail.from).await? {
            return Ok(Next::Command);
        }
        let by = Delivery { encrypted: self.encrypted, user: self.user.clone(), smtp_utf8: mail.smtp_utf8 };
        let received = ReceivedMail::parse(mail.from, mail.to, raw, by);
        self.shared.received.send_modify(|mails| mails.push(received));
        self.reply("250 2.0.0 taken").await?;
        Ok(Next::Command)
    }

    /// The text up to the line with the dot alone, without the dots that were added (RFC 5321 §4.5.2).
    async fn lines_to_the_dot(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut raw = Vec::new();
        loop {
            let line = self.line_of_bytes().await?;
            match line.as_slice() {
                [] => return Ok(None),
                b".\r\n" => return Ok(Some(raw)),
                [b'.', rest @ ..] => raw.extend_from_slice(rest),
                line => raw.extend_from_slice(line),
            }
        }
    }

    /// Refuses, if this step is to be refused. Like many a server, it repeats the address.
    async fn refused(&mut self, step: SmtpStep, address: &str) -> io::Result<bool> {
        let Some(code) = self.shared.failures.refusal(step) else { return Ok(false) };
        let is_late = step == SmtpStep::SenderAtRecipient;
        let reason = if is_late { "Sender address rejected" } else { "not today" };
        self.reply(&format!("{code} {}.1.1 <{address}>: {reason}", code / 100)).await?;
        Ok(true)
    }

    async fn not_hanging(&mut self) {
        if self.shared.failures.hangs() {
            std::future::pending::<()>().await;
        }
    }

    /// Who babbles ends when the client has left.
    async fn not_babbling(&mut self) -> io::Result<()> {
        while self.shared.failures.babbles() {
            self.stream.write_all(&BABBLE).await?;
            self.shared.failures.add_babbled(BABBLE.len());
        }
        Ok(())
    }

    async fn reply(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(format!("{line}\r\n").as_bytes()).await?;
        self.stream.flush().await
    }

    /// A command, or nothing if the client has left.
    async fn line(&mut self) -> io::Result<Option<String>> {
        let line = self.line_of_bytes().await?;
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        Ok((!line.is_empty()).then_some(text))
    }

    /// Up to and with CR LF: a bare LF ends no line.
    async fn line_of_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        while self.stream.read_until(b'\n', &mut line).await? > 0 && !line.ends_with(b"\r\n") {}
        Ok(line)
    }
}

fn decoded(base64: &str) -> String {
    STANDARD.decode(base64).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The address between the angle brackets, and the parameters after them.
fn path(rest: &str, keyword: &str) -> Option<(String, String)> {
    let (start, rest) = rest.split_at_checked(keyword.len())?;
    let (address, parameters) = rest.trim_start().strip_prefix('<')?.split_once('>')?;
    start.eq_ignore_ascii_case(keyword).then(|| (address.to_owned(), parameters.trim().to_owned()))
}
