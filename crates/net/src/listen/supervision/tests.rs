use super::*;

/// A connection whose last request has been answered, and when that was noticed.
fn answered(supervision: &Supervision) -> (Membership<'_>, Instant) {
    let (member, start) = (supervision.enter(), Instant::now());
    member.record.count_request(false);
    supervision.sweep(start);
    (member, start)
}

#[test]
fn a_later_head_has_as_long_as_the_first() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = answered(&supervision);
    member.record.begin_after(1);
    supervision.sweep(start + Duration::from_secs(1));
    supervision.sweep(start + limits.first_request_timeout);
    assert_eq!(member.record.order(), Order::Continue, "it began later");
    supervision.sweep(start + Duration::from_secs(1) + limits.first_request_timeout);
    assert_eq!(member.record.order(), Order::Drain);
}

#[test]
fn a_head_that_became_a_request_counts_no_longer() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = answered(&supervision);
    member.record.begin_after(1);
    supervision.sweep(start + Duration::from_secs(1));
    member.record.count_request(false);
    member.record.begin_after(2);
    supervision.sweep(start + Duration::from_secs(9));
    supervision.sweep(start + Duration::from_secs(12));
    assert_eq!(member.record.order(), Order::Continue);
    supervision.sweep(start + Duration::from_secs(22));
    assert_eq!(member.record.order(), Order::Drain);
}

#[test]
fn an_idle_connection_is_kept_longer() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = answered(&supervision);
    supervision.sweep(start + limits.keep_alive_timeout / 2);
    assert_eq!(member.record.order(), Order::Continue);
    supervision.sweep(start + limits.keep_alive_timeout);
    assert_eq!(member.record.order(), Order::Drain);
}

/// A connection over HTTP/2 that was told to end.
fn drained(supervision: &Supervision) -> (Membership<'_>, Instant) {
    let (member, start) = answered(supervision);
    member.record.read_http2(1);
    member.record.give(Order::Drain);
    supervision.sweep(start);
    (member, start)
}

#[test]
fn a_client_that_was_told_to_end_and_takes_nothing_is_cut() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = drained(&supervision);
    // Its PINGs, and their answers.
    member.record.read_http2(1 << 20);
    member.record.wrote_http2(1 << 20);
    supervision.sweep(start + limits.untaken_timeout - Duration::from_secs(1));
    assert_eq!(member.record.order(), Order::Drain);
    supervision.sweep(start + limits.untaken_timeout);
    assert_eq!(member.record.order(), Order::Cut);
}

#[test]
fn a_client_that_was_told_to_end_has_time_to_take_its_answers() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = drained(&supervision);
    let step = limits.untaken_timeout / 2;
    for sweeps in 1..10 {
        member.record.wrote_http2(usize::try_from(LEAST_TAKEN / 2).unwrap());
        supervision.sweep(start + step * sweeps);
        assert_eq!(member.record.order(), Order::Drain, "{sweeps}");
    }
}

#[test]
fn what_is_worked_on_is_waited_for_however_long_it_takes() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = drained(&supervision);
    member.record.begin_work();
    supervision.sweep(start + limits.untaken_timeout * 2);
    assert_eq!(member.record.order(), Order::Drain);
    member.record.end_work();
    supervision.sweep(start + limits.untaken_timeout * 3);
    assert_eq!(member.record.order(), Order::Drain, "from now on it is for the client");
    supervision.sweep(start + limits.untaken_timeout * 4);
    assert_eq!(member.record.order(), Order::Cut);
}

/// A connection over HTTP/1.1 that was told to end, and has something for its client to take.
fn untaken(supervision: &Supervision) -> (Membership<'_>, Instant) {
    let (member, start) = answered(supervision);
    member.record.wait_for_client(0);
    member.record.give(Order::Drain);
    supervision.sweep(start);
    (member, start)
}

#[test]
fn a_client_over_http_1_that_was_told_to_end_and_takes_hardly_anything_is_cut() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = untaken(&supervision);
    let last = limits.untaken_timeout * LUMPS;
    member.record.wait_for_client(u64::try_from(LEAST_TAKEN - 1).unwrap());
    supervision.sweep(start + last - Duration::from_secs(1));
    assert_eq!(member.record.order(), Order::Drain);
    supervision.sweep(start + last);
    assert_eq!(member.record.order(), Order::Cut);
}

#[test]
fn a_client_over_http_1_that_takes_its_answer_slowly_is_not_cut() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (member, start) = untaken(&supervision);
    let (step, mut taken) = (limits.untaken_timeout * LUMPS / 2, 0);
    for sweeps in 1..10 {
        taken += u64::try_from(LEAST_TAKEN / 2).unwrap();
        member.record.wait_for_client(taken);
        supervision.sweep(start + step * sweeps);
        assert_eq!(member.record.order(), Order::Drain, "{sweeps}");
    }
}

#[test]
fn a_client_over_http_1_that_has_nothing_to_take_is_not_cut() {
    let limits = Limits::default();
    let supervision = Supervision::new(&limits);
    let (taken, start) = untaken(&supervision);
    let (switched, _) = untaken(&supervision);
    taken.record.wait_no_longer();
    switched.record.switch();
    let step = limits.untaken_timeout * LUMPS;
    supervision.sweep(start + step * 2);
    assert_eq!((taken.record.order(), switched.record.order()), (Order::Drain, Order::Drain));
    taken.record.wait_for_client(1);
    supervision.sweep(start + step * 3);
    assert_eq!(taken.record.order(), Order::Drain, "from now on it is for the client");
    supervision.sweep(start + step * 4);
    assert_eq!((taken.record.order(), switched.record.order()), (Order::Cut, Order::Drain));
}

#[test]
fn who_was_not_told_to_end_or_has_nothing_to_take_is_not_cut() {
    let limits = Limits { keep_alive_timeout: Duration::MAX, ..Limits::default() };
    let supervision = Supervision::new(&limits);
    let (untold, start) = answered(&supervision);
    untold.record.read_http2(1);
    let (untold_http1, _) = answered(&supervision);
    untold_http1.record.wait_for_client(1);
    let (http1, _) = answered(&supervision);
    http1.record.give(Order::Drain);
    for sweeps in 1..5 {
        supervision.sweep(start + limits.untaken_timeout * LUMPS * sweeps);
    }
    assert_eq!((untold.record.order(), untold_http1.record.order()), (Order::Continue, Order::Continue));
    assert_eq!(http1.record.order(), Order::Drain);
}

#[test]
fn those_that_were_idle_longest_make_room() {
    let supervision = Supervision::new(&Limits::default());
    let begin = Instant::now();
    let answer = |number| {
        let member = supervision.enter();
        member.record.count_request(false);
        supervision.sweep(begin + Duration::from_millis(number));
        member
    };
    let members: Vec<_> = (0..20).map(answer).collect();
    let silent = supervision.enter();
    let told = || members.iter().map(|member| member.record.order() == Order::Drain).collect::<Vec<_>>();
    supervision.make_room(begin + LEAST_IDLE);
    assert_eq!(told().iter().filter(|told| **told).count(), 1, "the others have just been answered");
    for count in [3, 5] {
        supervision.make_room(begin + LEAST_IDLE * 2);
        let (first, rest) = (vec![true; count], vec![false; 20 - count]);
        assert_eq!(told(), [first, rest].concat());
    }
    assert_eq!(silent.record.order(), Order::Continue);
}

#[test]
fn who_may_be_on_the_way_is_waited_for_and_over_http_2_nobody_is() {
    let supervision = Supervision::new(&Limits::default());
    let (idle, _) = answered(&supervision);
    let (http2, _) = answered(&supervision);
    http2.record.read_http2(1);
    supervision.let_all_leave();
    let late = supervision.enter();
    let orders = || [&idle, &http2, &late].map(|member| member.record.order());
    assert_eq!(orders(), [Order::Leave, Order::Drain, Order::Leave]);
    supervision.make_room(Instant::now() + LEAST_IDLE);
    assert_eq!(orders(), [Order::Drain, Order::Drain, Order::Leave], "others wait for a place");
    supervision.drain_all();
    assert_eq!((orders(), supervision.enter().record.order()), ([Order::Drain; 3], Order::Drain));
    assert_eq!(supervision.cut_all(), 3);
    assert_eq!(supervision.enter().record.order(), Order::Cut);
}
