extension FunctionExpectation {
    /// Run with their owner's rights: triggers that write what users only read or stand in the place of a foreign key, and work on tables
    /// that the gateway's role does not own or may not remove rows from.
    static let withOwnersRights: Set<String> = [
        "gateway.record_crisis(uuid, uuid, integer, jsonb)",
        "gateway.remove_conversation()", "gateway.stop_deleted_turn()", "gateway.make_usage_partitions(integer)",
        "gateway.detach_usage_partition(integer)", "gateway.purge_content(interval, integer)", "gateway.purge_personas(interval, integer)",
        // Reads a table that no role reads.
        "gateway.crisis_events_of(uuid)",
        "gateway.claim_push_token()", "gateway.release_push_token()", "gateway.version_profile()", "gateway.number_edit()",
        "gateway.note_removal()", "gateway.number_statement()", "gateway.remove_words()", "gateway.keep_persona_version()",
        // Remove a user and keep a tombstone.
        "gateway.removed_among(uuid[])",
        "gateway.leave_tombstone()", "gateway.refuse_removed_user()", "gateway.delete_user(uuid, integer)",
        "gateway.refuse_removed_persona()",
        // Gives users of Supabase their row when they sign up.
        "gateway.add_user()",
        "gateway.refuse_user(uuid)",
        // Count the uses of a creator's link with a user's redemption, and the use of a persona by many users.
        "gateway.redeem_share_link(uuid, text)", "gateway.published_page(uuid, timestamp with time zone, uuid, integer)",
        "gateway.persona_stats(uuid, uuid)",
        // Ends calls of all users.
        "gateway.end_lost_summaries()",
        // Work on sessions, which no role reads.
        "gateway.open_operator_session(uuid, bytea, timestamp with time zone)", "gateway.operator_session(uuid, bytea)",
        "gateway.close_operator_session(uuid, bytea)",
        "gateway.purge_previews(interval, integer)", "gateway.persona_changes(uuid, bigint, uuid, integer)",
        "gateway.changed_rows(uuid, bigint, uuid, bigint, integer)",
        "gateway.next_persona_change()", "gateway.lock_persona_counter()", "gateway.number_persona()", "gateway.note_removed_persona()",
        // Write the audit log.
        "gateway.publish_within_tier(uuid, uuid, integer, text, jsonb, integer[], text)",
        "gateway.end_publication(uuid, uuid, bigint[], text)",
        // Read tombstones, and change what is kept of removed users.
        "gateway.removed_subscriber_ids(text[])", "gateway.names_removed_user(text[])", "gateway.forget_subscriber(uuid)",
        // Operators' functions check the role in the claims.
        "gateway.append_audit(text, text, integer, integer, text, text)", "gateway.verify_audit_log()", "operator.require_operator()",
        // The rollups are of all users.
        "gateway.ledger_id()",
        "gateway.fold_subscription_figures(integer)", "gateway.subscription_figures_as_of()",
        "gateway.fold_rollups(integer)", "gateway.figures_as_of()", "gateway.figure_state()",
        "gateway.note_readings(uuid, text[], double precision[])",
        "gateway.evaluate_alerts(jsonb, text)", "gateway.evaluate_alerts_2(uuid, integer, jsonb, text)",
        "operator.alerts(boolean, bigint, integer)",
        "gateway.note_circuits(uuid, text[], text[], text[])", "operator.provider_health()", "operator.measures(text[])",
        "operator.costs(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.user_costs(timestamp with time zone, timestamp with time zone, text[], text, text, bigint, text[], uuid[])",
        "operator.cost_page(timestamp with time zone, timestamp with time zone, text[], text, text, bigint, text[])",
        "operator.persona_costs(timestamp with time zone, timestamp with time zone, text[], text, text, bigint, text[])",
        "operator.figure_page(timestamp with time zone, timestamp with time zone, text[], text, text, bigint, text[], text)",
        "operator.latency(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.domains(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.providers(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.errors(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.usage(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.retention(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.retention_users(timestamp with time zone, timestamp with time zone, timestamp with time zone, bigint, text[], integer)",
        "operator.calls(timestamp with time zone, timestamp with time zone, jsonb, text[], integer)",
        "operator.reports(timestamp with time zone, uuid, integer)", "operator.routed_messages(integer)",
        "operator.routed_messages_2(integer)",
        "operator.user_status(uuid)", "operator.suspend_user(uuid, text, text)",
        "operator.unsuspend_user(uuid, text, text)", "operator.put_document(text, text, integer, jsonb, text, text, integer)",
        "operator.roll_back_document(text, text, integer, integer, text, text)", "operator.audit_log(bigint, integer)",
        "operator.unpublish_persona(uuid, text, text)",
        "operator.subscriptions(timestamp with time zone, timestamp with time zone, text[], text, text)",
        "operator.change_subscription(uuid, text, text, json, bytea, integer, jsonb, jsonb)",
        "operator.safety(timestamp with time zone, timestamp with time zone, text[], text, text)", "operator.safety_report(integer)",
    ]
}
