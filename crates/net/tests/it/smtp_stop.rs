//! What becomes of mails when no more are to be sent.

use std::num::NonZeroUsize;

use sluice_net::{SmtpConfig, SmtpError};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};

use super::smtp::{config, mail, mail_to, transport};

/// A server with one connection, that says what it is told to.
struct Server {
    listener: TcpListener,
    url: String,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}?starttls=never", listener.local_addr().unwrap());
        Self { listener, url }
    }

    /// Hears a mail to the end of its text, and does not answer that.
    async fn hear(&self) -> BufStream<TcpStream> {
        let mut stream = BufStream::new(self.listener.accept().await.unwrap().0);
        say(&mut stream, "220 here").await;
        while !hear(&mut stream).await.starts_with("DATA") {
            say(&mut stream, "250 well").await;
        }
        say(&mut stream, "354 go on").await;
        while hear(&mut stream).await != ".\r\n" {}
        stream
    }
}

async fn hear(stream: &mut BufStream<TcpStream>) -> String {
    let mut line = String::new();
    assert!(stream.read_line(&mut line).await.unwrap() > 0, "the connection ended");
    line
}

async fn say(stream: &mut BufStream<TcpStream>, reply: &str) {
    stream.write_all(format!("{reply}\r\n").as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

#[tokio::test]
async fn a_mail_that_the_server_has_is_waited_for_and_those_that_wait_for_their_turn_are_given_up() {
    let server = Server::start().await;
    let pool_size = NonZeroUsize::MIN;
    let transport = transport(&SmtpConfig { pool_size, ..config(&server.url) });
    let first = tokio::spawn({
        let transport = transport.clone();
        async move { transport.send(&mail()).await }
    });
    let mut heard = server.hear().await;
    let second = tokio::spawn({
        let transport = transport.clone();
        async move { transport.send(&mail_to("bob@example.com")).await }
    });
    transport.stop();
    assert!(matches!(second.await.unwrap(), Err(SmtpError::Stopped)));
    assert!(!first.is_finished());
    say(&mut heard, "250 it is mine now").await;
    first.await.unwrap().unwrap();
    let late = transport.send(&mail()).await;
    assert!(matches!(&late, Err(error @ SmtpError::Stopped) if error.is_temporary()), "{late:?}");
}

#[tokio::test]
async fn a_mail_to_a_server_that_does_not_greet_is_given_up() {
    let server = Server::start().await;
    let transport = transport(&config(&server.url));
    let sending = tokio::spawn({
        let transport = transport.clone();
        async move { transport.send(&mail()).await }
    });
    let _silent = server.listener.accept().await.unwrap();
    transport.stop();
    assert!(matches!(sending.await.unwrap(), Err(SmtpError::Stopped)));
}
