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
        "gateway.count_request(integer)",
        "gateway.uncount(uuid, integer, integer)",
        "gateway.rate_of(public.rate_limits, integer)",
        "gateway.take_request(integer)",
        "gateway.load_turn(uuid)",
        "gateway.supersede_answers(public.turns)",
        "gateway.history(uuid, integer, integer, integer)",
        "gateway.refusal(text, integer, integer, integer)",
        "gateway.begin_turn(jsonb)",
        "gateway.repeated_turn(jsonb)",
        "gateway.settle_late(public.turns, integer, jsonb, public.coaching_domain, public.settler)",
        "gateway.tokens_in(jsonb)",
        "gateway.tokens_out(jsonb)",
        "gateway.finish_turn(jsonb)",
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
        "gateway.request_stop(uuid)",
        "gateway.publish_persona(uuid, uuid)",
        "gateway.no_persona()",
        "gateway.delete_user(uuid, integer)",
    ]

    /// Called at every turn by functions that have pinned the search path, and by nobody else: to pin it again costs more than what they do.
    static let nested: Set<String> = [
        "gateway.take_change(uuid)",
        "gateway.count_request(integer)",
        "gateway.uncount(uuid, integer, integer)",
        "gateway.supersede_answers(public.turns)",
        "gateway.history(uuid, integer, integer, integer)",
        "gateway.settle_late(public.turns, integer, jsonb, public.coaching_domain, public.settler)",
    ]

    /// Called by triggers only, which ask nobody for permission.
    static let forNobody: Set<String> = [
        "gateway.touch_updated_at()", "gateway.remove_conversations()", "gateway.empty_conversations()", "gateway.refuse_update()",
        "gateway.limit_personas()", "gateway.limit_conversations()",
        "gateway.claim_push_token()", "gateway.release_push_token()", "gateway.version_profile()",
        "gateway.number_change()", "gateway.take_change(uuid)", "gateway.note_removal()", "gateway.number_statement()",
        "gateway.user_hash(uuid)", "gateway.leave_tombstone()", "gateway.refuse_removed_user()",
    ]

    /// Run with their owner's rights, as the foreign keys do in whose place they stand: who removes a user need not be one who may touch his turns.
    static let withOwnersRights: Set<String> = [
        "gateway.remove_conversations()", "gateway.empty_conversations()",
        // Write what users only read: the owner of a device, the history of a profile.
        "gateway.claim_push_token()", "gateway.release_push_token()", "gateway.version_profile()", "gateway.number_change()",
        "gateway.note_removal()", "gateway.number_statement()",
        // Remove a user, and remember that there was one.
        "gateway.leave_tombstone()", "gateway.refuse_removed_user()", "gateway.delete_user(uuid, integer)",
    ]
}
