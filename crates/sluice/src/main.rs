//! The program. All of it is in the library, so that tests can start a node within their own process.

use std::process::ExitCode;

/// Hands out first what came back last, which is still in the processor's cache. Elsewhere it is built for pages of one size, which those of
/// the machine that runs it need not have. With `heap-profile` it can tell by call stack who holds memory, if the process is started with
/// `_RJEM_MALLOC_CONF=prof:true`.
#[cfg(any(target_arch = "x86_64", feature = "heap-profile"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(not(any(target_arch = "x86_64", feature = "heap-profile")))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sluice::main()
}
