//! The pool: bounded, in order, nothing lost.

use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use sluice_crypto::hash_pool::{HashPool, HashPoolConfig, PoolBusy, Priority, QueueLimits, unheard};
use sluice_crypto::password_hash::{Argon2Params, PasswordHashError, hash};

fn pool(threads: usize, waiting: usize) -> HashPool {
    let queues = QueueLimits { login: waiting, client_secret: waiting, hardening: waiting };
    let threads = NonZeroUsize::new(threads).unwrap();
    HashPool::start(&HashPoolConfig { threads, queues, ..HashPoolConfig::default() }).unwrap()
}

/// Keeps one thread of the pool busy until dropped.
struct Blocker {
    _release: mpsc::Sender<()>,
}

impl Blocker {
    fn of(pool: &HashPool) -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let job = pool.run(Priority::Login, move |_| {
            begun.send(()).unwrap();
            let _ = released.recv();
        });
        begins.recv().unwrap();
        drop(job); // it has begun: nobody needs to wait for it
        Self { _release: release }
    }
}

#[tokio::test]
async fn a_job_answers() {
    let pool = pool(1, 1);
    assert_eq!(pool.run(Priority::Login, |_| 42).await, Ok(42));
    assert_eq!(pool.run(Priority::Hardening, |_| "done").await, Ok("done"));
    pool.shutdown();
    assert_eq!(pool.metrics().done_total(), 2);
}

#[tokio::test]
async fn a_full_queue_refuses_and_the_others_still_take() {
    let pool = pool(1, 2);
    let blocker = Blocker::of(&pool);
    let waiting: Vec<_> = (0..2).map(|_| pool.run(Priority::Hardening, |_| ())).collect();
    assert_eq!(
        pool.run(Priority::Hardening, |_| ()).await,
        Err(PoolBusy::QueueFull { wait: Duration::from_millis(200) })
    );
    let login = pool.run(Priority::Login, |_| ());
    assert_eq!(pool.metrics().queue_depth(Priority::Hardening), 2);
    assert_eq!(pool.metrics().queue_depth(Priority::Login), 1);
    assert_eq!(pool.metrics().rejected_total(Priority::Hardening), 1);
    assert_eq!(pool.metrics().rejected_total(Priority::Login), 0);
    assert_eq!(pool.metrics().busy_threads(), 1);
    drop(blocker);
    for job in waiting {
        assert_eq!(job.await, Ok(()));
    }
    assert_eq!(login.await, Ok(()));
}

#[tokio::test]
async fn logins_go_before_client_secrets_and_those_before_hardening() {
    let pool = pool(1, 8);
    let order = Arc::new(Mutex::new(Vec::new()));
    let blocker = Blocker::of(&pool);
    let mut jobs = Vec::new();
    for round in 0..2 {
        for priority in Priority::ALL.into_iter().rev() {
            let order = Arc::clone(&order);
            jobs.push(pool.run(priority, move |_| order.lock().push((priority, round))));
        }
    }
    drop(blocker);
    for job in jobs {
        job.await.unwrap();
    }
    let expected: Vec<_> =
        Priority::ALL.into_iter().flat_map(|priority| [(priority, 0), (priority, 1)]).collect();
    assert_eq!(*order.lock(), expected);
}

#[tokio::test]
async fn a_client_has_every_fourth_turn_however_many_people_log_in() {
    let pool = pool(1, 16);
    let order = Arc::new(Mutex::new(String::new()));
    let blocker = Blocker::of(&pool);
    let mut jobs = Vec::new();
    for (priority, letter, count) in
        [(Priority::Hardening, 'h', 1), (Priority::ClientSecret, 'c', 2), (Priority::Login, 'l', 12)]
    {
        for _ in 0..count {
            let order = Arc::clone(&order);
            jobs.push(pool.run(priority, move |_| order.lock().push(letter)));
        }
    }
    drop(blocker);
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(*order.lock(), "lllclllcllllllh");
}

#[tokio::test]
async fn a_turn_that_no_client_awaits_any_more_is_that_of_a_login() {
    let pool = pool(1, 16);
    let order = Arc::new(Mutex::new(String::new()));
    let blocker = Blocker::of(&pool);
    let tell = |letter| {
        let order = Arc::clone(&order);
        move |_: &mut _| order.lock().push(letter)
    };
    let logins: Vec<_> = (0..5).map(|_| pool.run(Priority::Login, tell('l'))).collect();
    drop(pool.run(Priority::ClientSecret, tell('c')));
    drop(blocker);
    for job in logins {
        job.await.unwrap();
    }
    assert_eq!(*order.lock(), "lllll");
}

#[tokio::test]
async fn no_job_is_lost_and_none_runs_twice() {
    let pool = Arc::new(pool(4, 1000));
    let ran = Arc::new(AtomicUsize::new(0));
    let callers = (0..8_usize).map(|caller| {
        let (pool, ran) = (Arc::clone(&pool), Arc::clone(&ran));
        std::thread::spawn(move || {
            let priority = Priority::ALL[caller % 3];
            let jobs = (0..300_usize).map(|n| {
                let ran = Arc::clone(&ran);
                pool.run(priority, move |_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    n
                })
            });
            jobs.map(|job| Box::pin(job) as std::pin::Pin<Box<dyn Future<Output = _> + Send>>)
                .collect::<Vec<_>>()
        })
    });
    let callers: Vec<_> = callers.collect();
    for caller in callers {
        for (n, job) in caller.join().unwrap().into_iter().enumerate() {
            assert_eq!(job.await, Ok(n));
        }
    }
    assert_eq!(ran.load(Ordering::Relaxed), 2400);
}

#[tokio::test]
async fn a_job_that_nobody_awaits_any_more_is_not_run_and_makes_room() {
    let pool = pool(1, 1);
    let blocker = Blocker::of(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |ran: &Arc<AtomicUsize>| {
        let ran = Arc::clone(ran);
        move |_: &mut _| {
            ran.fetch_add(1, Ordering::Relaxed);
        }
    };
    drop(pool.run(Priority::Login, count(&ran)));
    let awaited = pool.run(Priority::Login, count(&ran));
    drop(blocker);
    assert_eq!(awaited.await, Ok(()));
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

/// What comes of a job whose client has left.
async fn left<F: Future>(job: F) -> F::Output {
    let mut job = pin!(job);
    poll_fn(|context| unheard(|| job.as_mut().poll(context))).await
}

#[tokio::test]
async fn a_job_whose_client_left_while_it_waited_is_not_run_and_makes_room() {
    let pool = pool(1, 1);
    let blocker = Blocker::of(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&ran);
    let job = pool.reserve(Priority::Login).unwrap().run(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(left(job).await, Err(PoolBusy::Unheard));
    let heard = pool.run(Priority::Login, |_| 7);
    drop(blocker);
    assert_eq!(heard.await, Ok(7));
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_job_that_had_begun_when_its_client_left_is_answered() {
    let pool = pool(1, 1);
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let job = pool.reserve(Priority::Login).unwrap().run(move |_| {
        begun.send(()).unwrap();
        released.recv().is_err()
    });
    begins.recv().unwrap();
    drop(release);
    assert_eq!(left(job).await, Ok(true));
}

#[tokio::test]
async fn for_a_client_that_left_no_place_is_kept_and_what_follows_a_write_is_done() {
    let pool = pool(1, 1);
    let refused = unheard(|| pool.reserve(Priority::Login));
    assert_eq!(refused.unwrap_err(), PoolBusy::Unheard);
    assert_eq!(left(pool.run(Priority::Login, |_| 7)).await, Ok(7));
    assert_eq!(pool.metrics().rejected_total(Priority::Login), 0);
}

#[tokio::test]
async fn a_place_that_is_kept_is_one_that_waits() {
    let pool = pool(1, 1);
    let place = pool.reserve(Priority::Login).unwrap();
    assert!(matches!(pool.run(Priority::Login, |_| 1).await, Err(PoolBusy::QueueFull { .. })));
    assert_eq!(place.run(|_| 2).await, Ok(2));
    drop(pool.reserve(Priority::Login).unwrap());
    let place = pool.reserve(Priority::Login).unwrap();
    pool.shutdown();
    assert_eq!(place.run(|_| 3).await, Err(PoolBusy::Stopped));
}

#[tokio::test]
async fn a_login_that_waited_for_too_long_is_refused_and_a_new_password_and_hardening_are_done() {
    let threads = NonZeroUsize::MIN;
    let config = HashPoolConfig { threads, longest_wait: Duration::ZERO, ..HashPoolConfig::default() };
    let pool = HashPool::start(&config).unwrap();
    let (release, released) = mpsc::channel::<()>();
    let blocker = pool.run(Priority::Hardening, move |_| released.recv().is_err());
    while pool.metrics().busy_threads() == 0 {
        std::thread::yield_now();
    }
    let login = pool.reserve(Priority::Login).unwrap().run(|_| ());
    let password = pool.run(Priority::Login, |_| 7);
    let hardening = pool.run(Priority::Hardening, |_| ());
    // Two hashes, the one under way and a quarter are waited for, and none was computed yet: each is taken to take 100 ms.
    tokio::time::sleep(Duration::from_millis(400)).await;
    drop(release);
    assert!(matches!(login.await, Err(PoolBusy::QueueFull { .. })));
    assert_eq!((blocker.await, password.await, hardening.await), (Ok(true), Ok(7), Ok(())));
    assert_eq!(pool.metrics().rejected_total(Priority::Login), 1);
}

#[tokio::test]
async fn a_job_that_panics_takes_its_caller_with_it_and_no_thread() {
    let pool = pool(1, 1);
    let job = pool.run(Priority::Login, |_| panic!("on purpose"));
    assert!(tokio::spawn(job).await.unwrap_err().is_panic());
    assert_eq!(pool.run(Priority::Login, |_| 7).await, Ok(7));
    assert_eq!(pool.metrics().busy_threads(), 0);
}

#[tokio::test]
async fn shutting_down_finishes_what_waits_and_takes_no_more() {
    let pool = Arc::new(pool(1, 8));
    let blocker = Blocker::of(&pool);
    let jobs: Vec<_> = (0..5_usize).map(|n| pool.run(Priority::Hardening, move |_| n)).collect();
    let stopping = std::thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.shutdown()
    });
    drop(blocker);
    stopping.join().unwrap();
    for (n, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.await, Ok(n));
    }
    assert_eq!(pool.run(Priority::Login, |_| ()).await, Err(PoolBusy::Stopped));
}

#[tokio::test]
async fn memory_is_kept_for_the_next_hash_and_given_back() {
    let pool = pool(1, 4);
    let params = Argon2Params::new(64, 1, 1).unwrap();
    let hashed = pool.run(Priority::Login, move |memory| hash(params, b"a", b"saltsalt", memory)).await;
    assert!(hashed.unwrap().is_ok());
    assert_eq!(pool.run(Priority::Login, |memory| memory.held_kib()).await, Ok(64));
    pool.shutdown();
    assert_eq!(pool.metrics().held_bytes(), 0);
}

#[tokio::test]
async fn an_idle_thread_gives_its_memory_back() {
    let config =
        HashPoolConfig { threads: NonZeroUsize::MIN, idle: Duration::ZERO, ..HashPoolConfig::default() };
    let pool = HashPool::start(&config).unwrap();
    let params = Argon2Params::new(64, 1, 1).unwrap();
    let hashed = pool.run(Priority::Login, move |memory| hash(params, b"a", b"saltsalt", memory)).await;
    assert!(hashed.unwrap().is_ok());
    while pool.run(Priority::Login, |memory| memory.held_kib()).await != Ok(0) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_hash_above_the_memory_budget_fails_instead_of_growing() {
    let config = HashPoolConfig { max_memory_kib: 32, ..HashPoolConfig::default() };
    let pool = HashPool::start(&config).unwrap();
    let params = Argon2Params::new(64, 1, 1).unwrap();
    let hashed = pool.run(Priority::Login, move |memory| hash(params, b"a", b"saltsalt", memory)).await;
    assert_eq!(hashed.unwrap(), Err(PasswordHashError::TooMuchMemory));
}

#[tokio::test]
async fn a_job_may_hold_the_last_reference_to_its_pool() {
    let pool = Arc::new(pool(2, 1));
    let (release, released) = mpsc::channel::<()>();
    let held = Arc::clone(&pool);
    let job = pool.run(Priority::Login, move |_| {
        released.recv().unwrap();
        drop(held);
    });
    drop(pool);
    release.send(()).unwrap();
    assert_eq!(job.await, Ok(()));
}
