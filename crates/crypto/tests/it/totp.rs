//! Codes of authenticator apps.

use proptest::prelude::*;
use sluice_crypto::totp::{TotpError, TotpSecret, qr_svg};
use sluice_primitives::OsRng;

/// RFC 6238 appendix B, SHA-1: the last six of its eight digits.
const VECTORS: [(u64, &str); 6] = [
    (59, "287082"),
    (1_111_111_109, "081804"),
    (1_111_111_111, "050471"),
    (1_234_567_890, "005924"),
    (2_000_000_000, "279037"),
    (20_000_000_000, "353130"),
];

fn secret() -> TotpSecret {
    TotpSecret::from_bytes(b"12345678901234567890").unwrap()
}

#[test]
fn the_codes_of_the_rfc_match() {
    for (now, code) in VECTORS {
        assert_eq!(secret().matching_step(code, now, None), Some(now / 30), "{now}");
    }
}

#[test]
fn a_code_is_taken_one_step_early_and_one_step_late() {
    let (time, code) = VECTORS[3];
    let step = time / 30;
    for now in [step - 1, step, step + 1] {
        assert_eq!(secret().matching_step(code, now * 30, None), Some(step));
    }
    for now in [step - 2, step + 2] {
        assert_eq!(secret().matching_step(code, now * 30, None), None);
    }
}

#[test]
fn a_code_is_taken_once() {
    let (now, code) = VECTORS[3];
    let step = now / 30;
    assert_eq!(secret().matching_step(code, now, Some(step - 1)), Some(step));
    assert_eq!(secret().matching_step(code, now, Some(step)), None);
    assert_eq!(secret().matching_step(code, now, Some(step + 1)), None);
}

#[test]
fn what_is_no_code_does_not_match() {
    for code in ["", "28708", "2870820", "28708x", " 287082", "287083"] {
        assert_eq!(secret().matching_step(code, 59, None), None, "{code}");
    }
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    assert_eq!(secret().matching_step("755224", 0, None), Some(0)); // RFC 4226 appendix D
    assert_eq!(secret().matching_step("000000", u64::MAX, None), None);
}

#[test]
fn a_secret_reads_back_from_base32() {
    assert_eq!(secret().base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    let generated = TotpSecret::generate(&OsRng);
    assert_eq!(generated.expose().len(), 20);
    for text in [generated.base32(), generated.base32().to_lowercase(), format!("{}==", generated.base32())] {
        assert_eq!(TotpSecret::from_base32(&text).unwrap().expose(), generated.expose());
    }
    for wrong in ["", "GEZDGNBV", "1".repeat(32).as_str(), &"A".repeat(200)] {
        assert_eq!(TotpSecret::from_base32(wrong).unwrap_err(), TotpError::Secret, "{wrong}");
    }
}

#[test]
fn the_uri_survives_any_name() {
    assert_eq!(
        secret().otpauth_uri("A & B: Co", "zoë@example.com"),
        "otpauth://totp/A%20%26%20B%3A%20Co:zo%C3%AB%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
         &issuer=A%20%26%20B%3A%20Co&algorithm=SHA1&digits=6&period=30"
    );
}

#[test]
fn a_secret_does_not_print_itself() {
    assert_eq!(format!("{:?}", secret()), "TotpSecret([redacted])");
}

/// Draws the path again and looks where the standard puts the finder patterns.
#[test]
fn a_qr_code_is_an_image_of_its_own() {
    let svg = qr_svg(&secret().otpauth_uri("Sluice", "user@example.com")).unwrap();
    let (_, after) = svg.split_once("viewBox=\"0 0 ").unwrap();
    let size: usize = after.split_once(' ').unwrap().0.parse().unwrap();
    let (_, path) = svg.split_once("<path fill=\"#000\" d=\"").unwrap();
    let mut modules = vec![vec![false; size]; size];
    for run in path.split_once('"').unwrap().0.split('z').filter(|run| !run.is_empty()) {
        let numbers: Vec<usize> =
            run.split(['M', ' ', 'h']).filter_map(|part| part.trim_end_matches("v1").parse().ok()).collect();
        let [x, y, length] = numbers[..3] else { panic!("{run}") };
        modules[y][x..x + length].fill(true);
    }
    let finder = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"];
    for (left, top) in [(4, 4), (size - 11, 4), (4, size - 11)] {
        for (row, expected) in finder.iter().enumerate() {
            let drawn: String =
                (0..7).map(|x| if modules[top + row][left + x] { '#' } else { '.' }).collect();
            assert_eq!(&drawn, expected);
        }
    }
    let quiet = |place: usize| place < 4 || place >= size - 4;
    for (y, row) in modules.iter().enumerate() {
        assert!(row.iter().enumerate().all(|(x, dark)| !dark || !(quiet(x) || quiet(y))));
    }
    assert!(!svg.contains("href") && !svg.contains("<?xml") && !svg.contains("style"));
}

#[test]
fn a_text_that_does_not_fit_is_refused() {
    assert_eq!(qr_svg(&"x".repeat(4000)), Err(TotpError::TooLong));
}

proptest! {
    #[test]
    fn matching_never_panics(code: String, now: u64, after: Option<u64>) {
        let _ = secret().matching_step(&code, now, after);
        let _ = TotpSecret::from_base32(&code);
        let _ = secret().otpauth_uri(&code, &code);
        let _ = qr_svg(&code);
    }
}
