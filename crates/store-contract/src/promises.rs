//! The list of promises, and what makes a test of each.

/// Runs every promise on a [`Fixture`](crate::Fixture), each as a test of its own on fresh data.
#[macro_export]
macro_rules! store_contract {
    ($fixture:ty) => {
        $crate::promises! { $fixture;
            client {
                a_client_is_found_as_it_was_inserted,
                a_client_is_found_as_it_was_written,
                a_client_id_is_given_once,
                a_crowd_beside_an_id_that_is_taken_gets_its_own,
                a_client_with_text_that_cannot_be_stored_is_refused,
                a_replaced_client_has_the_next_revision,
                a_client_that_changed_meanwhile_is_not_replaced,
                concurrent_replacements_have_one_winner,
                a_deleted_client_leaves_its_marker_and_no_decisions,
                decisions_about_a_deleted_client_are_gone_before_its_marker,
                a_client_that_is_registered_again_inherits_no_decisions,
                a_client_is_deleted_once,
                revoking_the_grants_of_a_client_keeps_the_client,
                revoking_the_grants_of_a_client_keeps_what_is_remembered_about_it,
                revoking_the_grants_of_an_unregistered_client_forgets_decisions,
                every_write_of_a_client_is_in_the_feed,
                clients_are_listed_by_id_in_pages,
                no_client_is_listed_by_text_that_cannot_be_stored,
            }
            consent {
                a_decision_is_stored_with_its_grant,
                a_spent_flow_remembers_nothing,
                a_later_decision_replaces_the_earlier_one,
                of_decisions_that_come_at_once_the_latest_is_remembered,
                a_decision_expires,
                forgetting_about_a_client_revokes_its_grants_only,
                forgetting_all_leaves_one_marker,
                a_first_consent_in_flight_is_forgotten_with_all,
                forgotten_grants_are_neither_listed_nor_missed_by_the_sweep,
                a_later_grant_is_not_touched_by_forgetting,
                a_forgotten_decision_does_not_come_back,
                a_decision_of_a_login_that_was_signed_out_is_not_remembered,
                a_decision_of_elsewhere_is_imported_once,
                an_imported_decision_takes_the_place_of_no_later_one,
                a_decision_that_was_forgotten_is_not_imported,
                decisions_are_listed_by_client_until_they_end,
                the_decisions_of_a_session_are_listed,
                a_decision_is_found_by_the_flow_that_it_was_made_in,
                forgotten_decisions_are_not_listed,
                a_grant_is_not_listed_beside_its_remembered_decision,
                expired_decisions_are_purged_in_bounded_steps,
                a_renewed_decision_is_not_purged,
            }
            device {
                a_device_code_is_found_by_its_user_code_until_it_expires,
                a_user_code_belongs_to_one_living_code,
                an_expired_code_gives_its_user_code_free,
                concurrent_inserts_of_one_user_code_have_one_winner,
                a_device_waits_until_its_grant_is_there,
                a_grant_that_was_revoked_is_still_given,
                a_refused_device_is_told_so,
                a_refusal_is_known_to_every_node_and_stays_whatever_is_granted_after_it,
                an_expired_or_unknown_code_is_not_decided_about,
                an_impatient_device_is_slowed_down,
                a_granted_code_is_answered_however_fast_its_device_asks,
                of_concurrent_polls_one_is_in_time,
                expired_codes_are_purged_in_bounded_steps,
                a_code_with_text_that_cannot_be_stored_is_refused,
            }
            factor {
                factors_are_listed_oldest_first,
                a_factor_is_added_once,
                the_number_of_factors_is_limited,
                a_factor_of_nobody_is_not_added,
                a_factor_of_another_record_than_was_looked_at_is_not_added,
                a_use_of_a_factor_raises_its_counter,
                concurrent_uses_of_a_factor_have_one_winner,
                a_factor_of_another_is_not_used,
                a_factor_is_renamed,
                the_recovery_codes_go_with_the_last_factor,
                what_is_taken_away_does_not_come_back,
                recovery_codes_are_replaced_together,
                only_the_first_factor_brings_recovery_codes,
                the_first_factor_ends_the_sessions_that_showed_none,
                a_factor_that_is_to_be_the_first_is_added_to_no_other,
                of_factors_that_are_each_to_be_the_first_one_is_added,
                a_person_must_have_a_factor_if_that_was_noted,
                a_factor_added_again_tells_whether_its_codes_are_there,
                a_factor_that_an_earlier_call_added_is_told_to_be_there,
                a_recovery_code_is_spent_once,
                a_factor_with_text_that_cannot_be_stored_is_refused,
                all_factors_are_listed_by_person_in_pages,
                a_factor_is_sealed_again_if_it_is_unchanged,
                all_recovery_codes_are_counted_by_their_keys,
                more_recovery_codes_than_are_looked_at_at_once_are_counted,
            }
            feed {
                a_marker_is_read_as_it_was_appended,
                nothing_is_read_twice,
                a_node_that_appends_late_is_not_skipped,
                markers_of_overlapping_transactions_are_each_read_once,
                a_long_feed_is_read_in_pages,
                a_wait_ends,
            }
            grant {
                a_grant_is_found_as_it_was_inserted,
                a_flow_is_spent_by_its_first_grant,
                a_crowd_beside_a_flow_that_is_spent_gets_its_grants,
                concurrent_inserts_of_one_flow_have_one_winner,
                an_insert_retried_by_its_own_attempt_is_a_success,
                a_grant_with_text_that_cannot_be_stored_is_refused,
                a_code_is_redeemed,
                a_redeemed_grant_lives_by_its_scope,
                a_code_redeemed_twice_revokes_its_grant,
                a_code_that_is_only_refused_the_second_time_revokes_nothing,
                a_code_redeemed_by_64_at_once_is_redeemed_by_one_and_revoked,
                a_code_redeemed_64_times_in_one_batch_is_redeemed_by_one_and_revoked,
                a_redemption_retried_by_its_own_attempt_is_a_success,
                a_redemption_brings_the_claims_of_a_hook,
                redemptions_with_claims_and_without_share_commits,
                a_redemption_with_claims_that_cannot_be_stored_is_refused,
                only_a_living_grant_is_redeemed,
                redemptions_in_opposite_order_from_two_nodes_each_get_an_outcome,
                the_grants_of_a_subject_are_listed_newest_first,
                the_grants_of_a_session_are_listed,
                grants_of_a_skipped_consent_are_listed_among_all_only,
                dead_grants_are_not_listed,
                expired_grants_are_purged_in_bounded_steps,
            }
            hardening {
                a_provisional_credential_waits_to_be_hardened,
                a_leased_credential_is_given_to_nobody_else,
                concurrent_leases_of_credentials_never_overlap,
                the_longest_waiting_credentials_are_leased_first,
                a_hardened_credential_is_stored_and_waits_no_more,
                only_what_is_unchanged_is_hardened,
                credentials_hardened_by_many_at_once_are_hardened_once,
                a_login_takes_a_credential_off_the_queue,
                a_credential_that_was_given_up_is_kept_and_not_leased,
                a_credential_that_does_not_wait_is_not_given_up,
                the_backlog_is_counted,
                a_hardened_credential_that_cannot_be_stored_is_refused,
            }
            hydra_mark {
                what_was_imported_is_marked,
                marks_are_gone_through_in_pages_and_taken_away,
            }
            hydra_token {
                a_token_of_hydra_is_found_with_its_grant_until_it_ends,
                the_grant_of_a_token_of_hydra_is_rotated,
                tokens_of_hydra_are_imported_once,
                a_later_token_of_hydra_speaks_for_its_grant,
                a_grant_of_hydra_that_was_revoked_is_there_as_long_as_its_last_token,
                the_token_of_hydra_that_ends_last_speaks_for_its_grant,
                tokens_of_hydra_are_gone_through_in_pages_and_forgotten,
                tokens_of_hydra_that_nobody_exchanged_are_counted_when_they_are_forgotten,
                expired_tokens_of_hydra_are_purged_in_bounded_steps,
            }
            identity {
                an_identity_is_found_as_it_was_registered,
                a_login_name_is_given_once,
                an_id_is_given_once,
                a_registration_retried_by_its_own_attempt_is_a_success,
                concurrent_registrations_of_one_name_have_one_winner,
                duplicates_in_opposite_order_from_two_nodes_each_get_an_outcome,
                a_crowd_beside_names_that_are_taken_is_registered,
                an_identity_with_text_that_cannot_be_stored_fails_alone,
                a_credential_is_replaced_only_if_it_is_still_the_old_one,
                a_credential_is_sealed_again_if_it_is_unchanged,
            }
            identity_change {
                a_change_touches_the_fields_that_it_names,
                a_change_of_everything_is_one_change,
                a_stale_change_changes_nothing,
                a_change_to_a_taken_address_changes_nothing,
                a_stale_change_to_a_taken_address_is_stale,
                a_former_address_is_free_again,
                a_change_retried_by_its_own_attempt_is_a_success,
                a_change_ends_the_sessions_that_it_says,
                the_markers_of_a_change_are_in_the_feed,
                a_change_forgets_factors_if_it_says_so,
                a_changed_credential_waits_to_be_hardened_if_it_says_so,
                a_change_with_text_that_cannot_be_stored_is_refused,
            }
            identity_contention {
                concurrent_changes_of_one_identity_have_one_winner,
                an_address_that_many_want_at_once_is_given_once,
                people_who_swap_addresses_at_once_each_get_an_outcome,
                markers_of_overlapping_changes_are_each_read_once,
                a_deletion_takes_what_comes_at_the_same_time,
            }
            identity_delete {
                a_deleted_identity_leaves_nothing_but_its_marker,
                the_marker_of_a_deleted_identity_is_in_the_feed,
                an_identity_is_deleted_once,
                a_deleted_name_may_be_registered_anew,
                nothing_is_added_to_a_deleted_identity,
            }
            identity_letters {
                a_registration_brings_its_code_and_its_mail,
                a_registration_of_a_taken_name_writes_its_other_letter,
                a_registration_retried_by_its_own_attempt_writes_once,
                registrations_with_letters_and_without_share_commits,
                a_registration_whose_letter_cannot_be_stored_fails_alone,
            }
            identity_list {
                identities_are_listed_by_id_in_pages,
                identities_are_searched_by_text,
                identities_are_listed_by_status,
                a_page_that_found_nothing_yet_has_a_next_one,
            }
            identity_notices {
                the_notice_of_a_factor_is_queued_when_it_is_added,
                the_notice_of_a_factor_is_queued_when_it_is_removed,
                the_notice_of_new_recovery_codes_is_queued_with_them,
                the_notice_of_a_spent_recovery_code_is_queued_with_it,
                the_notice_of_a_deletion_is_queued_with_it,
            }
            identity_revision {
                what_a_proof_rests_on_raises_the_revision,
                changes_that_raise_no_revision_stop_nobody,
                a_small_change_retried_by_its_own_attempt_is_made_once,
                what_was_looked_at_before_a_change_is_not_removed_after,
                what_was_looked_at_as_it_is_is_removed,
            }
            identity_session_bounds {
                a_person_has_so_many_sessions_and_the_oldest_end,
                people_who_sign_in_at_once_have_so_many_sessions,
                a_change_that_revokes_ends_what_its_marker_covers,
                a_session_that_the_marker_of_its_person_covers_is_not_begun,
                the_end_of_a_subject_ends_the_sessions_of_the_person,
            }
            identity_session {
                an_identity_session_is_found_as_it_was_begun,
                an_identity_session_is_begun_once,
                an_identity_session_that_has_ended_is_not_begun_again,
                the_current_generation_is_rotated,
                the_generation_before_gets_the_current_one_within_the_window,
                two_generations_before_gets_nothing_within_the_window,
                an_older_generation_ends_the_session,
                without_a_window_no_generation_is_given_twice,
                concurrent_uses_of_one_generation_share_the_next,
                sessions_that_are_rotated_together_each_get_an_outcome,
                a_session_rotation_retried_by_its_own_attempt_is_a_success,
                an_expired_or_unknown_session_is_gone,
                a_session_of_somebody_disabled_or_deleted_is_gone,
                sessions_are_listed_newest_first,
                sessions_are_listed_in_the_order_of_their_ids,
                a_session_is_ended_by_its_person_only,
                expired_identity_sessions_are_purged_in_bounded_steps,
                an_identity_session_with_text_that_cannot_be_stored_is_refused,
            }
            keys {
                ten_nodes_that_start_at_once_end_with_one_key_per_algorithm,
                only_missing_algorithms_are_created,
                a_set_is_read_newest_first,
                a_set_with_a_name_that_cannot_be_stored_is_empty,
                an_added_key_replaces_one_with_the_same_kid,
                a_new_key_is_added_only_where_its_kid_is_free,
                a_replaced_set_holds_the_new_keys_only,
                a_set_is_replaced_only_if_it_is_still_as_it_was_read,
                of_two_sets_that_are_put_at_once_one_is_there,
                keys_and_sets_are_deleted_once,
                ten_nodes_that_rotate_at_once_end_with_one_successor,
                only_the_newest_key_has_a_successor,
                a_successor_is_newer_than_its_predecessor_whatever_the_clock_says,
                a_key_is_replaced_only_if_it_is_still_as_it_was_read,
                a_key_is_removed_only_if_it_is_still_as_it_was_read,
                a_key_is_removed_beside_one_that_stays,
                of_keys_that_are_removed_at_once_beside_each_other_one_is_left,
                a_key_is_superseded_only_if_it_is_still_as_it_was_read,
                of_keys_that_are_superseded_at_once_beside_each_other_one_is_left,
                the_names_of_all_sets_are_listed,
                every_write_of_a_key_is_in_the_feed,
                a_key_with_text_that_cannot_be_stored_is_refused,
            }
            login_session {
                a_session_is_found_as_it_was_inserted,
                a_session_is_found_with_where_its_login_was_if_that_is_kept,
                a_session_is_inserted_once_and_keeps_its_subject,
                a_session_goes_on_as_of_a_later_login,
                a_session_does_not_go_back_to_an_earlier_login,
                a_session_that_is_over_or_anothers_is_not_renewed,
                a_session_that_is_not_remembered_is_not_found,
                a_session_ends_at_its_time_however_often_it_is_used,
                an_idle_session_is_not_found,
                a_touch_moves_the_end_if_it_says_so,
                the_sessions_of_a_subject_are_those_that_go_on,
                participants_are_the_clients_that_got_a_grant,
                participants_know_whose_session_it_is_by_the_name_they_were_told,
                nobody_takes_part_in_a_session_that_is_not_there,
                an_ended_session_is_gone_marked_and_told,
                a_session_ends_whatever_the_clocks_say,
                all_sessions_of_a_subject_end_with_one_marker,
                an_ended_session_does_not_come_back,
                a_session_that_authenticated_before_its_subjects_end_is_not_inserted,
                a_session_with_text_that_cannot_be_stored_is_refused,
                a_remembered_session_is_kept_for_its_participants,
                a_session_is_kept_for_those_who_have_tokens_of_it_still,
                a_session_whose_time_is_over_does_not_go_on,
                expired_sessions_are_purged_in_bounded_steps,
            }
            login_session_contention {
                sessions_that_are_put_together_each_get_an_outcome,
                sessions_touched_in_opposite_order_from_two_nodes_are_all_touched,
            }
            login_session_endings {
                nobody_is_told_of_the_end_of_a_session_that_goes_on,
                however_many_sessions_a_subject_has_they_end_at_once,
                whoever_deletes_a_session_that_ended_tells_of_it_alone,
                a_session_that_is_joined_at_its_end_stays_until_all_are_told,
                subjects_whose_sessions_are_left_are_found_one_after_the_other,
                a_marker_outlives_the_sessions_that_it_ended,
            }
            mail {
                a_queued_mail_is_leased_when_it_is_due,
                a_mail_is_queued_once,
                a_leased_mail_is_given_to_nobody_else,
                concurrent_leases_of_mails_never_overlap,
                the_mail_that_is_due_longest_is_leased_first,
                a_sent_mail_is_gone,
                a_failed_mail_is_due_again_at_its_time,
                a_mail_that_waits_is_brought_forward,
                a_dead_mail_is_kept_and_not_sent,
                a_mail_with_text_that_cannot_be_stored_is_refused,
                a_mail_that_is_never_due_is_not_sent,
                the_oldest_mail_tells_when_it_was_queued_however_often_it_was_tried,
                dead_and_undue_mails_are_purged_in_bounded_steps,
                sealed_mails_are_listed_by_id_in_pages,
                a_mail_is_sealed_again_if_it_is_unchanged,
                a_mail_is_dropped_if_it_is_unchanged,
            }
            mail_code {
                a_code_is_right_once,
                a_code_is_right_for_one_of_many_at_once,
                the_mail_of_a_code_is_queued_with_it,
                a_code_that_was_typed_wrong_ten_times_is_gone,
                a_code_may_be_typed_wrong_nine_times,
                a_link_needs_no_tries_and_costs_none,
                a_new_code_replaces_the_former_one,
                a_code_put_again_by_its_own_attempt_does_not_come_back,
                an_expired_code_is_gone,
                a_code_taken_again_by_the_same_attempt_is_right,
                a_code_is_right_by_one_of_its_hashes,
                to_look_at_a_code_spends_nothing,
                a_code_that_is_kept_stays_good_and_can_be_guessed_no_better,
                a_code_is_good_for_one_purpose_of_one_person,
                expired_mail_codes_are_purged_in_bounded_steps,
                a_code_with_an_address_that_cannot_be_stored_is_refused,
            }
            outbox {
                a_leased_notice_is_given_to_nobody_else,
                a_client_takes_no_more_than_its_share_of_a_lease,
                the_first_notice_of_every_client_goes_before_the_second_of_any,
                notices_under_way_count_in_the_share_of_their_client,
                concurrent_leases_never_overlap,
                a_delivered_notice_is_gone,
                a_failed_notice_is_due_again_at_its_time,
                a_postponed_notice_is_due_again_at_its_time_and_was_not_tried,
                a_dead_letter_is_kept_and_not_sent,
                the_oldest_notice_tells_when_its_session_ended,
                dead_letters_are_purged_in_bounded_steps,
            }
            overload {
                a_poisoned_row_fails_alone,
                a_full_queue_turns_away_at_once_and_writes_nothing,
                a_write_is_answered_at_its_deadline_and_can_be_retried,
            }
            parked_flow {
                a_parked_flow_is_fetched_until_it_expires,
                the_quota_of_parked_flows_holds,
                expired_flows_are_purged_in_bounded_steps,
                a_flow_with_text_that_cannot_be_stored_is_refused,
            }
            refresh {
                the_current_token_is_rotated,
                a_rotation_moves_the_end_of_the_grant,
                the_predecessor_repeats_the_current_pair_within_the_window,
                the_predecessor_asking_for_something_else_is_stale,
                the_predecessor_after_the_window_revokes_the_grant,
                two_generations_back_is_stale_within_the_window_and_reuse_after,
                an_older_token_revokes_the_grant_at_any_time,
                without_a_window_nothing_is_repeated,
                a_rotation_retried_by_its_own_attempt_is_a_success,
                a_rotation_brings_the_claims_of_a_hook,
                rotations_with_claims_and_without_share_commits,
                a_rotation_with_claims_that_cannot_be_stored_is_refused,
                only_a_living_redeemed_grant_is_rotated,
                simultaneous_uses_of_one_token_share_one_pair,
                random_schedules_on_two_nodes_follow_the_table,
            }
            replay {
                a_thing_is_spent_exactly_once_of_64,
                things_are_told_apart_by_kind_and_hash,
                a_thing_may_be_spent_again_when_its_spending_expired,
                what_is_spent_is_known_to_be_until_its_spending_expires,
                things_that_are_spent_together_expire_each_at_its_own_time,
                expired_things_are_purged_in_bounded_steps,
            }
            revocation {
                wide_markers_stop_redemption_by_the_time_that_counts,
                wide_markers_stop_rotation_by_the_time_that_counts,
                wide_markers_cover_grants_that_are_inserted_later,
                a_marker_covers_nothing_of_others,
                a_grant_stands_as_its_markers_say,
                a_grant_without_a_row_can_be_revoked,
                a_grant_is_revoked_once,
                a_sweep_revokes_the_grants_that_wide_markers_cover,
                an_expired_marker_goes_after_its_sweep_and_revives_nothing,
                an_expired_marker_stays_until_its_sweep_is_complete,
                a_grant_that_comes_after_the_sweep_of_its_marker_stays_revoked,
                a_grant_that_was_revoked_in_flight_is_inserted_revoked,
                a_feed_goes_on_after_its_markers_went,
            }
            serving_node {
                nodes_know_what_others_said_last,
                nodes_that_were_not_seen_for_long_are_forgotten,
                nodes_that_are_noted_at_once_are_all_known,
            }
            trust {
                a_trusted_issuer_is_found_as_it_was_inserted,
                an_issuer_is_trusted_once_for_a_subject_and_key,
                concurrent_inserts_of_one_trust_have_one_winner,
                an_expired_trust_gives_way_to_a_new_one,
                the_keys_of_an_issuer_are_found_while_they_hold,
                no_trust_is_found_by_text_that_cannot_be_stored,
                no_more_trusts_are_found_than_can_be_tried,
                trusted_issuers_are_listed_in_pages,
                a_trusted_issuer_is_deleted_once,
                the_keys_of_an_issuer_are_told_each_once,
                an_issuer_is_trusted_no_more_without_its_key,
                all_trusted_issuers_are_counted,
                expired_trusts_are_purged_in_bounded_steps,
                a_trust_with_text_that_cannot_be_stored_is_refused,
            }
        }
    };
}

/// What [`store_contract!`] is made of.
#[doc(hidden)]
#[macro_export]
macro_rules! promises {
    ($fixture:ty; $($aggregate:ident { $($promise:ident,)+ })+) => {
        $(
            mod $aggregate {
                use super::*;
                $(
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    async fn $promise() {
                        let fixture = <$fixture as $crate::Fixture>::start().await;
                        $crate::$aggregate::$promise(&fixture).await;
                    }
                )+
            }
        )+
    };
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// A promise that is written but not listed would never run.
    #[test]
    fn every_promise_is_listed() {
        let (source, list) = (concat!(env!("CARGO_MANIFEST_DIR"), "/src"), include_str!("promises.rs"));
        for file in fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path()) {
            let text = if file.is_file() { fs::read_to_string(&file).unwrap() } else { String::new() };
            for line in text.lines().filter(|line| line.contains("(fixture: &impl Fixture)")) {
                let Some(name) = line.strip_prefix("pub async fn ").and_then(|rest| rest.split('(').next())
                else {
                    continue;
                };
                assert!(list.contains(&format!("                {name},\n")), "{name} is not in the list");
            }
        }
    }
}
