//! The end of an upload that waits for room at its server while the answer is there.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::sync::mpsc;

use super::given::*;
use super::h2::{http2_client, spoken_over_http2};
use super::h2_frames::{
    DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE, frame, greet, next_frame,
};

/// hyper takes the last part of a body before there is room for it: that is not sent yet.
#[tokio::test]
async fn what_waits_for_room_at_the_server_is_sent_after_an_answer_without_content() {
    let (told, mut heard) = mpsc::unbounded_channel();
    let address = Backend::bind().await.serve(move |mut peer, _| {
        let told = told.clone();
        async move {
            // SETTINGS_INITIAL_WINDOW_SIZE: there is room for two bytes.
            greet(&mut peer, &[0, 4, 0, 0, 0, 2]).await;
            while let Some((kind, flags, stream)) = next_frame(&mut peer).await {
                match kind {
                    HEADERS => {
                        // 304
                        let head = frame(HEADERS, END_HEADERS, stream, &[0x8b]);
                        peer.say([head, frame(DATA, 0, stream, b"content")].concat()).await;
                    }
                    DATA if flags & END_STREAM == 0 => {
                        peer.say(frame(DATA, 0, stream, b"more")).await;
                        tokio::task::yield_now().await;
                        peer.say(frame(DATA, 0, stream, b"more")).await;
                        peer.say(frame(WINDOW_UPDATE, 0, stream, &[0, 0, 0, 100])).await;
                    }
                    DATA => {
                        told.send("whole").unwrap();
                        peer.say(frame(DATA, END_STREAM, stream, &[])).await;
                    }
                    RST_STREAM => told.send("cut").unwrap(),
                    _ => {}
                }
            }
        }
    });
    let world = spoken_over_http2(Setup::to(&[address])).start().await;
    let mut client = http2_client(world.connect().await).await;
    let (upload, parts) = mpsc::unbounded_channel::<Frame<Bytes>>();
    let parts = stream::unfold(parts, |mut parts| async move {
        parts.recv().await.map(|part| (Ok::<_, Infallible>(part), parts))
    });
    upload.send(Frame::data(Bytes::from_static(b"1"))).unwrap();
    let request = Request::post("http://api.example/").body(StreamBody::new(parts.boxed())).unwrap();
    let answer = in_time(client.send_request(request)).await.unwrap();
    assert_eq!(answer.status(), 304);
    upload.send(Frame::data(Bytes::from_static(b"2345"))).unwrap();
    drop(upload);
    assert_eq!(in_time(answer.into_body().collect()).await.unwrap().to_bytes(), "");
    assert_eq!(in_time(heard.recv()).await, Some("whole"));
}
