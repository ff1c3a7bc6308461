/// Every function of ours. None is open to users; one that is missing here fails the test.
enum FunctionExpectation {
    /// Called by the gateway's role, directly or by another function of this list.
    static let forGateway: Set<String> = [
        "gateway.user_id()",
        "gateway.is_unbound()",
        "gateway.level_at(smallint, timestamp with time zone, timestamp with time zone)",
        "gateway.level_of_tier(integer)",
        "gateway.raise_safety(uuid, uuid, integer, boolean, timestamp with time zone)",
        "gateway.estimate_tokens(text)",
        "gateway.title_of(text)",
        "gateway.prompt_text(jsonb)",
        "gateway.domain_of(jsonb)",
        "gateway.request_hash(jsonb)",
        "gateway.to_usd(bigint)",
        "gateway.to_nanodollars(numeric)",
        "gateway.count_request(uuid, integer)",
        "gateway.uncount(uuid, integer, integer)",
        "gateway.rate_of(public.rate_limits, integer)",
        "gateway.check_caller(uuid)",
        "gateway.take_request(uuid, integer)",
        "gateway.bill_of(uuid, uuid, integer, date)",
        "gateway.load_turn(uuid, uuid)",
        "gateway.supersede_answers(uuid, uuid, integer)",
        "gateway.history(uuid, uuid, integer, integer, integer)",
        "gateway.rejection(text, integer, integer, integer)",
        "gateway.ordinary_limit(uuid, public.rate_limits, jsonb, jsonb, integer, boolean, numeric, date, timestamp with time zone)",
        "gateway.take_crisis_call(uuid, jsonb, integer)",
        "gateway.find_persona(uuid, integer)",
        "gateway.restart_turn(uuid, public.turns, gateway.turn_plan)",
        "gateway.replace_turn(uuid, public.turns, gateway.turn_plan)",
        "gateway.insert_turn(uuid, jsonb, gateway.risk, bytea, gateway.turn_plan)",
        "gateway.start_attempt(uuid, uuid, gateway.begun_turn, gateway.turn_plan)",
        "gateway.begin_turn(uuid, jsonb)",
        "gateway.repeated_turn(uuid, jsonb)",
        "gateway.finalize_late(uuid, public.turns, integer, jsonb, public.coaching_domain, public.finalizer)",
        "gateway.tokens_in(jsonb)",
        "gateway.tokens_out(jsonb)",
        "gateway.write_answer(uuid, gateway.ended_turn, integer, jsonb, jsonb, public.finalizer, timestamp with time zone)",
        "gateway.finish_late(uuid, uuid, integer, jsonb, jsonb, public.finalizer, timestamp with time zone)",
        "gateway.finish_turn(uuid, jsonb)",
        "gateway.lease()",
        "gateway.silence()",
        "gateway.grace()",
        "gateway.read_clock(timestamp with time zone)",
        "gateway.register_instance(uuid, bigint)",
        "gateway.renew_lease(uuid, bigint)",
        "gateway.is_dead(uuid, bigint, uuid, bigint, timestamp with time zone)",
        "gateway.checkpoint(uuid, bigint, jsonb, bigint, uuid[], integer[], integer[], integer[], integer[], bytea)",
        "gateway.said(gateway.place[])",
        "gateway.tail(jsonb)",
        "gateway.orphans(uuid, bigint, integer)",
        "gateway.sweep_checkpoints()",
        "gateway.request_stop(uuid, uuid)",
        "gateway.make_usage_partitions(integer)",
        "gateway.purge_deleted(interval, integer)",
        "gateway.publish_persona(uuid, uuid)",
        "gateway.no_persona()",
        "gateway.delete_user(uuid, integer)",
    ]

    /// Called at every turn by functions that have pinned the search path, and by nobody else: to pin it again costs more than what they do.
    static let nested: Set<String> = [
        "gateway.take_change(uuid)",
        "gateway.check_caller(uuid)",
        "gateway.count_request(uuid, integer)",
        "gateway.uncount(uuid, integer, integer)",
        "gateway.supersede_answers(uuid, uuid, integer)",
        "gateway.history(uuid, uuid, integer, integer, integer)",
        "gateway.ordinary_limit(uuid, public.rate_limits, jsonb, jsonb, integer, boolean, numeric, date, timestamp with time zone)",
        "gateway.take_crisis_call(uuid, jsonb, integer)",
        "gateway.find_persona(uuid, integer)",
        "gateway.restart_turn(uuid, public.turns, gateway.turn_plan)",
        "gateway.replace_turn(uuid, public.turns, gateway.turn_plan)",
        "gateway.insert_turn(uuid, jsonb, gateway.risk, bytea, gateway.turn_plan)",
        "gateway.start_attempt(uuid, uuid, gateway.begun_turn, gateway.turn_plan)",
        "gateway.write_answer(uuid, gateway.ended_turn, integer, jsonb, jsonb, public.finalizer, timestamp with time zone)",
        "gateway.finish_late(uuid, uuid, integer, jsonb, jsonb, public.finalizer, timestamp with time zone)",
    ]

    /// Called by triggers only, which ask nobody for permission.
    static let forNobody: Set<String> = [
        "gateway.touch_updated_at()", "gateway.remove_conversation()", "gateway.refuse_update()",
        "gateway.limit_personas()", "gateway.limit_conversations()",
        "gateway.claim_push_token()", "gateway.release_push_token()", "gateway.version_profile()",
        "gateway.number_change()", "gateway.take_change(uuid)", "gateway.note_removal()", "gateway.number_statement()",
        "gateway.user_hash(uuid)", "gateway.leave_tombstone()", "gateway.refuse_removed_user()",
    ]

    /// Run with their owner's rights: triggers that write what users only read or stand in the place of a foreign key, and work on tables that the
    /// gateway's role does not own or may not remove rows from.
    static let withOwnersRights: Set<String> = [
        "gateway.remove_conversation()", "gateway.make_usage_partitions(integer)", "gateway.purge_deleted(interval, integer)",
        "gateway.claim_push_token()", "gateway.release_push_token()", "gateway.version_profile()", "gateway.number_change()",
        "gateway.note_removal()", "gateway.number_statement()",
        // Remove a user, and remember that there was one.
        "gateway.leave_tombstone()", "gateway.refuse_removed_user()", "gateway.delete_user(uuid, integer)",
    ]
}
