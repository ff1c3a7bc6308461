-- A repeated request: the state of the turn that it began.

-- The bill of an attempt: the sums of its ledger rows; NULL when it has no receipt. Planned at each call, for then only one day is looked at.
create function gateway.bill_of(uid uuid, turn_id uuid, attempt integer, day date) returns jsonb
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return (
        select jsonb_build_object(
            'provider', (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1],
            'model', (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1],
            'input', sum(l.input_tokens), 'cached_input', sum(l.cached_input_tokens), 'cache_write', sum(l.cache_write_tokens),
            'output', sum(l.output_tokens), 'reasoning', sum(l.reasoning_tokens),
            'cost_nanodollars', case when sum(l.unpriced) = 0 then gateway.to_nanodollars(sum(l.cost_usd)) end,
            'estimated', (array_agg(l.estimated order by l.revision desc))[1])
        from public.usage_logs l
        where l.account_id = (select u.account_id from public.users u where u.id = gateway.user_id())
            and l.day = $4 and l.turn_id = $2 and l.attempt = $3 and l.call = 1
        having count(l.finalized_by) > 0);
end $$;

-- The current state of a turn, for subscribers and replays; NULL when it does not exist, belongs to another user, or its conversation is deleted.
-- Decisions about a running turn are those of its first checkpoint; before that (is_decided: false) the risk is the message's.
create function gateway.load_turn(uid uuid, turn_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    perform gateway.check_caller(uid);
    return (
        select jsonb_build_object(
            'user_id', t.user_id,
            'turn', jsonb_build_object(
                'turn_id', t.id, 'conversation_id', t.conversation_id, 'user_message_id', t.user_message_id,
                'message_id', t.message_id, 'attempt', t.attempt),
            'day', t.day,
            'started_at', floor(extract(epoch from t.started_at))::bigint,
            'status', t.status,
            'is_decided', t.status <> 'running' or r.facts is not null,
            'finish_reason', t.finish_reason,
            'error_code', t.error_code,
            'content', coalesce(m.content, ''),
            'bill', case when t.status <> 'running' then gateway.bill_of(uid, t.id, t.attempt, t.day) end,
            'tier', t.tier,
            'domain', coalesce(r.facts -> 'domain', jsonb_build_object(
                'domain', t.domain, 'confidence', coalesce(t.domain_confidence, 0), 'source', coalesce(t.domain_source, 'abstained'))),
            'persona_id', t.persona_id,
            'risk', coalesce(r.facts -> 'risk', jsonb_build_object(
                'tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns)),
            'country', coalesce(r.facts ->> 'country', t.country),
            'locale', coalesce(r.facts ->> 'locale', t.locale),
            'disclosure', t.disclosure)
        from public.turns t
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and c.deleted_at is null
        left join public.messages m on m.user_id = t.user_id and m.id = t.message_id
        left join gateway.running_turns r
            on r.user_id = t.user_id and r.conversation_id = t.conversation_id and r.turn_id = t.id and r.attempt = t.attempt
        where t.user_id = gateway.user_id() and t.id = $2 and t.deleted_at is null);
end $$;

-- The result for a request whose turn exists and needs no new attempt: it does not count.
create function gateway.known_answer(uid uuid, turn_id uuid, safety_level integer, tier jsonb) returns jsonb
    language plpgsql as $$
declare
    counter constant public.rate_limits := gateway.uncount(uid, 1, 1);
    known constant jsonb := gateway.load_turn(uid, turn_id);
begin
    return case when known is null then gateway.rejection('not_found', null, null, safety_level)
        else jsonb_build_object('outcome', 'known', 'known', known) end
        || jsonb_build_object('rate', gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer));
end $$;

-- Whether a request differs from the one that began a turn with its key.
create function gateway.is_other_request(turn public.turns, fingerprint bytea, conversation_id uuid) returns boolean
    language sql immutable
    as $$ select turn.request_hash <> fingerprint or coalesce(turn.conversation_named and turn.conversation_id <> $3, false) $$;

-- The turn for a repetition of the request that began `origin`: the latest on the same message, or, when that is a retry that ended without an answer,
-- the one whose answer counts again; of a retry that retry itself.
create function gateway.repeated_by(uid uuid, origin public.turns) returns public.turns
    language plpgsql stable as $$
declare
    latest public.turns;
    restored public.turns;
begin
    if origin.retry_of is null then
        select t.* into latest from public.messages m join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
        where m.user_id = uid and m.id = origin.user_message_id;
        if latest.retry_of is not null and latest.status <> 'running' and not gateway.has_answer(uid, latest) then
            select t.* into restored from public.turns t where t.user_id = uid and t.id = latest.retry_of;
            latest := case when gateway.has_answer(uid, restored) then restored else latest end;
        end if;
    end if;
    return case when latest.id is null then origin else latest end;
end $$;

-- Whether a repeated request begins the turn's next attempt. A removed turn is not found.
create function gateway.needs_attempt(turn public.turns) returns boolean
    language sql immutable
    as $$ select turn.status = 'failed' and turn.deleted_at is null $$;

-- The result of begin_turn for a repeated request that needs no new attempt; NULL when it needs one. Writes nothing: for an instance that cannot
-- begin turns. request: as there.
create function gateway.repeated_turn(uid uuid, request jsonb) returns jsonb
    language plpgsql stable set search_path = '' as $$
declare
    origin public.turns;
    turn public.turns;
    counter public.rate_limits;
    tier integer;
begin
    perform gateway.check_caller(uid);
    select t.* into origin from public.turns t join public.users u on u.id = t.user_id
    where t.user_id = uid and t.idempotency_key = request ->> 'idempotency_key' and u.suspended_at is null;
    turn := gateway.repeated_by(uid, origin);
    if turn.status is null or gateway.needs_attempt(turn) then
        return null;
    end if;
    select * into strict counter from public.rate_limits r where r.user_id = uid;
    select tier_of into tier from gateway.tier_of(uid, request -> 'limits', clock_timestamp());
    return case
        when gateway.is_other_request(origin, gateway.request_hash(request), (request ->> 'conversation_id')::uuid)
        then gateway.rejection('idempotency_mismatch', null, null, 0)
        else coalesce(
            (select jsonb_build_object('outcome', 'known', 'known', loaded.known)
                from (select gateway.load_turn(uid, turn.id)) as loaded (known) where loaded.known is not null),
            gateway.rejection('not_found', null, null, 0))
        end || jsonb_build_object('rate', gateway.rate_of(
            counter, (request #>> array['limits', 'tiers', tier::text, 'requests_per_minute'])::integer));
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.bill_of(uuid, uuid, integer, date), gateway.load_turn(uuid, uuid), gateway.known_answer(uuid, uuid, integer, jsonb),
    gateway.is_other_request(public.turns, bytea, uuid), gateway.needs_attempt(public.turns), gateway.repeated_by(uuid, public.turns), gateway.repeated_turn(uuid, jsonb)
    to coach_gateway;
