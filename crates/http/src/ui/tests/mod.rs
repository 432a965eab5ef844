//! The pages as a browser sees them, on the memory store.

mod consent;
mod device;
mod login;
mod logout;
mod world;
