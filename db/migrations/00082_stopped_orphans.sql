-- A turn whose owner crashed before it saw a requested stop ends as stopped, also without text.

-- As before, with `is_stop_requested`, which the releases before do not read:
--   [{user_id, turn, day, facts?, risk, persona_id, country, locale, content, provider?, model?, calls?, prompt_tokens, is_stop_requested, duration_ms}]
create or replace function gateway.orphans(instance uuid, epoch bigint, at_most integer, tried uuid[]) returns jsonb
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    orphaned constant gateway.running_turns[] := array(
        select r from gateway.orphaned_turns(instance, $2, clock_timestamp(), at_most, tried) r);
begin
    if random() < 1.0 / 60 then
        perform gateway.sweep_checkpoints();
    end if;
    if cardinality(orphaned) = 0 then
        return '[]';
    end if;
    return (
        with orphan as materialized (
            select * from unnest(orphaned)
        ),
        released_text as materialized (
            select * from gateway.checkpointed_text((
                select array_agg((r.owner_instance, r.owner_epoch, r.turn_id, r.attempt, 0, null)::gateway.read_position) from orphan r))
        )
        select jsonb_agg(jsonb_build_object(
            'user_id', r.user_id,
            'turn', jsonb_build_object(
                'turn_id', r.turn_id, 'conversation_id', r.conversation_id, 'user_message_id', r.user_message_id,
                'message_id', r.message_id, 'attempt', r.attempt),
            'day', r.day,
            'facts', r.facts,
            'persona_id', r.persona_id,
            'risk', r.risk,
            'country', r.country,
            'locale', r.locale,
            'content', coalesce(released_text.content, ''),
            'provider', r.provider,
            'model', r.model,
            'calls', r.calls,
            'prompt_tokens', coalesce(r.prompt_tokens, 0),
            'is_stop_requested', r.stop_requested_at is not null,
            -- The clock may have been changed meanwhile.
            'duration_ms', least(
                extract(epoch from greatest(released_text.saved_at, r.saved_at, r.started_at) - r.started_at) * 1000, 2147483647)::integer
        ) order by r.started_at)
        from orphan r
        left join released_text on released_text.turn_id = r.turn_id);
end $$;

-- As before, but the owner's answer also supersedes the one that was restored when recovery ended a retry as stopped before its first token.
create or replace function gateway.finish_late(
    uid uuid, turn_id uuid, nth integer, receipt jsonb, bill jsonb, finalizer public.finalizer, moment timestamptz) returns text
    language plpgsql as $$
declare
    ended public.turns;
    turn gateway.ended_turn;
    decided constant public.coaching_domain := receipt #>> '{domain,domain}';
    risk constant gateway.risk := jsonb_populate_record(null::gateway.risk, receipt -> 'risk');
    is_placed constant boolean := receipt ->> 'country' is not null or receipt ->> 'locale' is not null;
begin
    -- Before the turn, as begin_turn does.
    perform from public.change_counters c where c.user_id = gateway.user_id() for update;
    select * into ended from public.turns t where t.user_id = gateway.user_id() and t.id = $2 for update;
    if not found or ended.attempt < nth then
        return 'unknown_turn';
    end if;
    -- What the user has deleted stays so: only the ledger learns of it.
    if ended.attempt > nth or ended.deleted_at is not null then
        perform gateway.finalize_late(uid, ended, nth, receipt, bill, finalizer);
        if receipt ? 'calls' then
            perform gateway.book_calls(
                uid, ended.id, nth, gateway.day_of_attempt(uid, ended, nth), receipt -> 'calls', finalizer);
        end if;
        return 'superseded';
    end if;
    if finalizer <> 'owner' or ended.finalized_by is distinct from 'recovery' then
        return 'already_finalized';
    end if;

    -- The owner's receipt replaces recovery's. Its answer and its danger have the time at which the attempt ended, so that the answer of a later turn
    -- stays behind it; that turn has begun after recovery's receipt.
    turn.change := gateway.next_change(uid);
    turn.ended_at := least(ended.finished_at, ended.started_at + make_interval(secs => (receipt ->> 'duration_ms')::integer / 1000.0));
    update public.turns t
    set status = (receipt ->> 'status')::public.turn_status, finish_reason = (receipt ->> 'finish_reason')::public.finish_reason,
        error_code = receipt ->> 'error_code', domain = decided, domain_confidence = (receipt #>> '{domain,confidence}')::real,
        domain_source = (receipt #>> '{domain,source}')::public.domain_source,
        country = case when is_placed then receipt ->> 'country' else t.country end,
        locale = case when is_placed then receipt ->> 'locale' else t.locale end,
        risk_tier = coalesce(risk.tier, t.risk_tier), risk_categories = coalesce(risk.categories, t.risk_categories),
        risk_subject = coalesce(risk.subject, t.risk_subject), risk_patterns = coalesce(risk.patterns, t.risk_patterns),
        risk_is_decided = t.risk_is_decided or risk.tier is not null,
        time_to_first_token_ms = (receipt ->> 'time_to_first_token_ms')::integer, duration_ms = (receipt ->> 'duration_ms')::integer,
        finalized_by = finalizer, finished_at = turn.ended_at, updated_at = moment, change = turn.change
    where t.user_id = gateway.user_id() and t.id = ended.id
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.status, t.domain, t.persona_id, t.tier, t.purpose,
        t.risk_tier, t.retry_of, exists (
            select from public.messages m where m.user_id = gateway.user_id() and m.id = t.user_message_id and m.turn_id = t.id)
    into turn.id, turn.conversation_id, turn.user_message_id, turn.message_id, turn.seq, turn.status, turn.domain, turn.persona_id,
        turn.tier, turn.purpose, turn.risk_tier, turn.retry_of, turn.is_latest;
    if not gateway.has_answer(uid, ended) and turn.status <> 'failed' and turn.is_latest then
        if ended.retry_of is not null then
            perform gateway.supersede_answers(uid, ended.conversation_id, ended.seq, turn.change);
        end if;
        update public.messages m set status = 'complete', updated_at = moment, change = turn.change
        where m.user_id = gateway.user_id() and m.id = ended.user_message_id;
    end if;
    perform gateway.finalize_late(uid, ended, nth, receipt, bill, finalizer);
    turn.day := ended.day;
    perform gateway.write_answer(uid, turn, nth, receipt, bill, finalizer, moment);
    return 'finalized';
end $$;
