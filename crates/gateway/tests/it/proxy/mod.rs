//! The data path, over real sockets.

mod again;
mod bodies;
mod bound;
mod given;
mod grpc;
mod h2;
mod h2_frames;
mod h2_tails;
mod h2_unprocessed;
mod heads;
mod health;
mod records;
mod reuse;
mod smuggling;
mod timeouts;
mod tls;
mod upgrades;
mod whole;
mod wire;
