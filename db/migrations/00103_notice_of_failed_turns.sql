-- The notice of talking to a machine counted as given by a turn that failed, also when its request was refused by a budget that users share: then nobody saw
-- the notice, and the next turns of three hours had none.

-- As in 00017. The notice of a failed turn does not count as given, also when its stream had begun with it: the next turn gives it, unless a later one has.
create or replace function gateway.end_without_answer(uid uuid, turn gateway.ended_turn, moment timestamptz) returns void
    language plpgsql as $$
begin
    -- A retry has no text, so the answer that it superseded is restored.
    update public.messages m set status = former.status::text::public.message_status, updated_at = moment, change = turn.change
    from public.turns former
    where former.user_id = uid and former.id = turn.retry_of and former.status <> 'failed'
        and m.user_id = uid and m.id = former.message_id;
    if not found then
        -- Also of a stopped turn, whose domain clients see at the message.
        update public.messages m
        set status = case when turn.status = 'failed' then 'failed' else m.status end, updated_at = moment, change = turn.change
        where m.user_id = uid and m.id = turn.user_message_id;
    end if;
    if turn.status = 'failed' then
        update public.rate_limits r set disclosed_at = null
        from public.turns t
        where r.user_id = uid and t.user_id = uid and t.id = turn.id and t.disclosure is not null and r.disclosed_at = t.created_at;
    end if;
end $$;

-- As in 00014. The next attempt of a failed turn has the notice of the turn, which counts as given again.
create or replace function gateway.restart_turn(uid uuid, turn public.turns, plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    update public.turns t
    set status = 'running', attempt = t.attempt + 1, error_code = null, finalized_by = null, persona_id = plan.persona_id, tier = plan.tier,
        time_to_first_token_ms = null, duration_ms = null, day = plan.day, started_at = plan.moment, finished_at = null,
        updated_at = plan.moment
    where t.user_id = uid and t.id = turn.id and t.status = 'failed' and t.attempt = turn.attempt
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.attempt, t.persona_id,
        jsonb_build_object('tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns),
        t.country, t.locale into begun;
    if not found then
        raise exception 'the turn was changed meanwhile' using errcode = 'serialization_failure';
    end if;
    if turn.retry_of is not null then
        perform gateway.supersede_answers(uid, turn.conversation_id, turn.seq, plan.change);
    end if;
    if turn.disclosure is not null then
        update public.rate_limits r set disclosed_at = turn.created_at
        where r.user_id = uid and (r.disclosed_at is null or r.disclosed_at < turn.created_at);
    end if;
    update public.messages m set status = 'complete', updated_at = plan.moment, change = plan.change
    where m.user_id = uid and m.id = turn.user_message_id;
    return begun;
end $$;
