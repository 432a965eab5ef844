//! The program. All of it is in the library, so that tests can start a node within their own process.

use std::process::ExitCode;

#[cfg(not(feature = "heap-profile"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Can tell by call stack who holds memory, if the process is started with `_RJEM_MALLOC_CONF=prof:true`.
#[cfg(feature = "heap-profile")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    sluice::main()
}
