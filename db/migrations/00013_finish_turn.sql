-- The second of a turn's two round trips.

-- One ledger row a turn and attempt. An owner's bill replaces a reaper's and never adds to it; a reaper's replaces nothing. Settles the
-- budget of the day on which the attempt began, and gives back what was set aside for it.
-- Returns what was spent more than before: a value, so that it is called as an expression, which costs less than a statement.
create function gateway.settle(turn public.turns, nth integer, bill jsonb, decided public.coaching_domain, settler public.settler, release numeric)
    returns numeric
    language plpgsql as $$
declare
    started_on constant date := (turn.started_at at time zone 'UTC')::date;
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
    total_in constant integer := (bill ->> 'input')::integer + coalesce((bill ->> 'cached_input')::integer, 0)
        + coalesce((bill ->> 'cache_write')::integer, 0);
    total_out constant integer := (bill ->> 'output')::integer + coalesce((bill ->> 'reasoning')::integer, 0);
    former public.usage_logs;
    spent numeric := 0;
    unpriced integer := 0;
begin
    -- The attempt that runs has no row yet.
    if turn.status <> 'running' or turn.attempt > nth then
        select * into former from public.usage_logs u where u.user_id = turn.user_id and u.turn_id = turn.id and u.attempt = nth;
    end if;
    if former.turn_id is null then
        if bill is not null then
            insert into public.usage_logs (
                user_id, turn_id, attempt, conversation_id, message_id, persona_id, domain, tier, provider, model, input_tokens,
                cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out, cost_usd, estimated,
                settled_by)
            values (
                turn.user_id, turn.id, nth, turn.conversation_id, turn.message_id, turn.persona_id, decided, turn.tier,
                bill ->> 'provider', bill ->> 'model', (bill ->> 'input')::integer, (bill ->> 'cached_input')::integer,
                (bill ->> 'cache_write')::integer, (bill ->> 'output')::integer, (bill ->> 'reasoning')::integer,
                total_in, total_out, cost, (bill ->> 'estimated')::boolean, settler);
            spent := coalesce(cost, 0);
            unpriced := (cost is null)::integer;
        end if;
    elsif former.settled_by = 'reaper' and settler = 'owner' then
        -- An owner without a bill knows that no provider took the call: then it cost nothing.
        update public.usage_logs u
        set provider = coalesce(bill ->> 'provider', u.provider), model = coalesce(bill ->> 'model', u.model), domain = decided,
            input_tokens = case when bill is null then 0 else (bill ->> 'input')::integer end,
            cached_input_tokens = (bill ->> 'cached_input')::integer, cache_write_tokens = (bill ->> 'cache_write')::integer,
            output_tokens = case when bill is null then 0 else (bill ->> 'output')::integer end,
            reasoning_tokens = (bill ->> 'reasoning')::integer,
            tokens_in = case when bill is null then 0 else total_in end,
            tokens_out = case when bill is null then 0 else total_out end,
            cost_usd = case when bill is null then 0 else cost end,
            estimated = coalesce((bill ->> 'estimated')::boolean, false), settled_by = 'owner', updated_at = now()
        where u.user_id = turn.user_id and u.turn_id = turn.id and u.attempt = nth;
        spent := coalesce(cost, 0) - coalesce(former.cost_usd, 0);
        unpriced := (bill is not null and cost is null)::integer - (former.cost_usd is null)::integer;
    end if;

    if spent <> 0 or unpriced <> 0 or release <> 0 then
        insert into public.budgets as b (user_id, day, spent_usd, unpriced_turns)
        values (turn.user_id, started_on, spent, unpriced)
        on conflict (user_id, day) do update
            set spent_usd = b.spent_usd + spent, unpriced_turns = b.unpriced_turns + unpriced, reserved_usd = b.reserved_usd - release;
    end if;
    return spent;
end $$;

-- Ends an attempt of a turn of the caller in `request.jwt.claims`: answer, ledger, budget, state, all or nothing. Repeating it changes nothing.
--
-- receipt: {turn_id, attempt, status: complete | stopped | interrupted | failed, finish_reason?, error_code?, content,
--           bill: null | {provider, model, input, cached_input, cache_write, output, reasoning, cost_nanodollars, estimated},
--           domain: {domain, confidence, source}, risk: {tier, categories, subject, patterns},
--           time_to_first_token_ms?, duration_ms, settled_by?: owner (default) | reaper}
-- answer: {outcome: settled}          written now
--       | {outcome: already_settled}  it was before
--       | {outcome: superseded}       a later attempt runs or ended; only the ledger was written
--       | {outcome: unknown_turn}     not this user's, or gone with him
create function gateway.finish_turn(receipt jsonb) returns jsonb
    language plpgsql
    set search_path = ''
    -- Plans are kept, and one made while a table was empty would read it from end to end for ever.
    set enable_seqscan = off set jit = off
    as $$
declare
    uid constant uuid := gateway.user_id();
    nth constant integer := (receipt ->> 'attempt')::integer;
    settler constant public.settler := coalesce(receipt ->> 'settled_by', 'owner');
    answer constant text := coalesce(receipt ->> 'content', '');
    bill constant jsonb := nullif(receipt -> 'bill', 'null');
    decided constant public.coaching_domain := (receipt #>> '{domain,domain}')::public.coaching_domain;
    risk constant gateway.risk := jsonb_populate_record(null::gateway.risk, receipt -> 'risk');
    ended constant public.turn_status := receipt ->> 'status';
    turn public.turns;
    -- False when a late receipt finds that the message has been answered by a later turn.
    is_latest boolean := true;
    spent numeric;
    moment constant timestamptz := clock_timestamp();
begin
    select * into turn from public.turns t where t.user_id = uid and t.id = (receipt ->> 'turn_id')::uuid for update;
    if not found or turn.attempt < nth then
        return jsonb_build_object('outcome', 'unknown_turn');
    end if;
    if turn.attempt > nth then
        perform gateway.forget_progress(uid, turn.id, nth);
        spent := gateway.settle(turn, nth, bill, decided, settler, 0);
        return jsonb_build_object('outcome', 'superseded');
    end if;
    if turn.status <> 'running' and not (turn.settled_by = 'reaper' and settler = 'owner') then
        return jsonb_build_object('outcome', 'already_settled');
    end if;

    if turn.status <> 'running' then
        is_latest := exists (
            select from public.messages m where m.user_id = uid and m.id = turn.user_message_id and m.turn_id = turn.id);
        if turn.status = 'failed' and ended <> 'failed' and is_latest then
            if turn.retry_of is not null then
                perform gateway.supersede_answers(turn);
            end if;
            update public.messages m set status = 'complete', updated_at = moment where m.user_id = uid and m.id = turn.user_message_id;
        end if;
    end if;

    with progress as (
        -- What was known of it on the way goes as the turn ends; a checkpoint that is late is swept.
        delete from gateway.turn_progress p where p.user_id = uid and p.turn_id = turn.id and p.attempt <= nth
    ), conversation as (
        update public.conversations c
        set domain = coalesce(decided, c.domain), last_message_at = moment, updated_at = moment
        where c.user_id = uid and c.id = turn.conversation_id and ended <> 'failed'
    ), said as (
        insert into public.messages as m (
            user_id, id, conversation_id, turn_id, seq, role, content, status, domain, token_count, created_at, updated_at)
        select
            uid, turn.message_id, turn.conversation_id, turn.id, turn.seq + 1, 'assistant', answer,
            case when is_latest then ended::text else 'superseded' end::public.message_status,
            decided, coalesce((bill ->> 'output')::integer, gateway.estimate_tokens(answer)), moment, moment
        -- A turn that was stopped before its first word has no answer.
        where ended <> 'failed' and answer <> ''
        on conflict (user_id, id) do update
            set content = excluded.content, domain = excluded.domain, token_count = excluded.token_count, updated_at = moment,
                status = case m.status when 'superseded' then m.status else excluded.status end
    )
    update public.turns t
    set status = ended, finish_reason = (receipt ->> 'finish_reason')::public.finish_reason, error_code = receipt ->> 'error_code',
        domain = decided, domain_confidence = (receipt #>> '{domain,confidence}')::real,
        domain_source = (receipt #>> '{domain,source}')::public.domain_source,
        risk_tier = coalesce(risk.tier, 0), risk_categories = coalesce(risk.categories, '{}'),
        risk_subject = coalesce(risk.subject, 'unclear'), risk_patterns = coalesce(risk.patterns, '{}'),
        time_to_first_token_ms = (receipt ->> 'time_to_first_token_ms')::integer, duration_ms = (receipt ->> 'duration_ms')::integer,
        reserved_usd = 0, settled_by = settler, finished_at = moment, updated_at = moment
    where t.user_id = uid and t.id = turn.id;

    if is_latest and (ended = 'failed' or answer = '') then
        -- Trying again brought nothing: what it was to replace is the answer again.
        update public.messages m set status = former.status::text::public.message_status, updated_at = moment
        from public.turns former
        where former.user_id = uid and former.id = turn.retry_of and former.status <> 'failed'
            and m.user_id = uid and m.id = former.message_id;
        if not found and ended = 'failed' then
            update public.messages m set status = 'failed', updated_at = moment where m.user_id = uid and m.id = turn.user_message_id;
        end if;
    end if;
    if risk.tier > 0 then
        perform gateway.raise_safety(uid, turn.persona_id, risk.tier, false, moment);
    end if;
    spent := gateway.settle(turn, nth, bill, decided, settler, turn.reserved_usd);
    return jsonb_build_object('outcome', 'settled');
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.settle(public.turns, integer, jsonb, public.coaching_domain, public.settler, numeric), gateway.finish_turn(jsonb)
    to coach_gateway;
