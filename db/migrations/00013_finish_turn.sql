-- The second of a turn's two round trips.

-- All tokens of a bill, whatever their class.
create function gateway.tokens_in(bill jsonb) returns integer
    language sql immutable
    return (bill ->> 'input')::integer + coalesce((bill ->> 'cached_input')::integer, 0) + coalesce((bill ->> 'cache_write')::integer, 0);

create function gateway.tokens_out(bill jsonb) returns integer
    language sql immutable
    return (bill ->> 'output')::integer + coalesce((bill ->> 'reasoning')::integer, 0);

-- Books the bill of an attempt that runs no more: one ledger row a turn and attempt. An owner's bill replaces a reaper's and never adds to it;
-- a reaper's replaces nothing. Settles the budget of the day on which the attempt began.
create function gateway.settle_late(turn public.turns, nth integer, bill jsonb, decided public.coaching_domain, settler public.settler)
    returns void
    language plpgsql as $$
declare
    started_on constant date := (turn.started_at at time zone 'UTC')::date;
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
    former public.usage_logs;
    spent numeric := 0;
    unpriced integer := 0;
begin
    select * into former from public.usage_logs u where u.user_id = turn.user_id and u.turn_id = turn.id and u.attempt = nth;
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
                gateway.tokens_in(bill), gateway.tokens_out(bill), cost, (bill ->> 'estimated')::boolean, settler);
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
            tokens_in = case when bill is null then 0 else gateway.tokens_in(bill) end,
            tokens_out = case when bill is null then 0 else gateway.tokens_out(bill) end,
            cost_usd = case when bill is null then 0 else cost end,
            estimated = coalesce((bill ->> 'estimated')::boolean, false), settled_by = 'owner', updated_at = now()
        where u.user_id = turn.user_id and u.turn_id = turn.id and u.attempt = nth;
        spent := coalesce(cost, 0) - coalesce(former.cost_usd, 0);
        unpriced := (bill is not null and cost is null)::integer - (former.cost_usd is null)::integer;
    end if;

    if spent <> 0 or unpriced <> 0 then
        insert into public.budgets as b (user_id, day, spent_usd, unpriced_turns)
        values (turn.user_id, started_on, spent, unpriced)
        on conflict (user_id, day) do update
            set spent_usd = b.spent_usd + spent, unpriced_turns = b.unpriced_turns + unpriced;
    end if;
end $$;

-- Ends an attempt of a turn of the caller in `request.jwt.claims`: answer, ledger, budget, state, all or nothing. Repeating it changes nothing.
--
-- receipt: {turn_id, attempt, status: complete | stopped | interrupted | failed, finish_reason?, error_code?, content,
--           bill: null | {provider, model, input, cached_input, cache_write, output, reasoning, cost_nanodollars, estimated},
--           domain: {domain, confidence, source}, risk: {tier, categories, subject, patterns}, country?, locale?,
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
    nth constant integer := receipt ->> 'attempt';
    settler constant public.settler := coalesce(receipt ->> 'settled_by', 'owner');
    answer constant text := coalesce(receipt ->> 'content', '');
    bill constant jsonb := nullif(receipt -> 'bill', 'null');
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
    risk constant gateway.risk := jsonb_populate_record(null::gateway.risk, receipt -> 'risk');
    moment constant timestamptz := clock_timestamp();
    -- One place, taken whole: what the turn began with may be put together of two.
    is_placed constant boolean := receipt ->> 'country' is not null or receipt ->> 'locale' is not null;
    turn record;
    -- What a late receipt finds: the turn as a reaper ended it; that its answer has a row; that a later turn answered the message.
    ended public.turns;
    late boolean := false;
    is_kept boolean := false;
    is_latest boolean := true;
begin
    -- A turn that runs is ended at once, without looking at it first; only when that finds none is it asked why.
    loop
        update public.turns t
        set status = (receipt ->> 'status')::public.turn_status, finish_reason = (receipt ->> 'finish_reason')::public.finish_reason,
            error_code = receipt ->> 'error_code',
            domain = (receipt #>> '{domain,domain}')::public.coaching_domain,
            domain_confidence = (receipt #>> '{domain,confidence}')::real,
            domain_source = (receipt #>> '{domain,source}')::public.domain_source,
            country = case when is_placed then receipt ->> 'country' else t.country end,
            locale = case when is_placed then receipt ->> 'locale' else t.locale end,
            risk_tier = coalesce(risk.tier, 0), risk_categories = coalesce(risk.categories, '{}'),
            risk_subject = coalesce(risk.subject, 'unclear'), risk_patterns = coalesce(risk.patterns, '{}'),
            time_to_first_token_ms = (receipt ->> 'time_to_first_token_ms')::integer,
            duration_ms = (receipt ->> 'duration_ms')::integer,
            settled_by = settler, finished_at = moment, updated_at = moment
        where t.user_id = gateway.user_id() and t.id = (receipt ->> 'turn_id')::uuid and t.attempt = nth
            and (t.status = 'running' or late)
        returning t.user_id, t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.status, t.domain, t.persona_id, t.tier,
            t.risk_tier, t.started_at, t.retry_of, t.reserved_usd
        into turn;
        exit when found;

        select * into ended from public.turns t where t.user_id = gateway.user_id() and t.id = (receipt ->> 'turn_id')::uuid for update;
        if not found or ended.attempt < nth then
            return jsonb_build_object('outcome', 'unknown_turn');
        end if;
        if ended.attempt > nth then
            perform gateway.settle_late(ended, nth, bill, (receipt #>> '{domain,domain}')::public.coaching_domain, settler);
            return jsonb_build_object('outcome', 'superseded');
        end if;
        if late or settler <> 'owner' or ended.settled_by is distinct from 'reaper' then
            return jsonb_build_object('outcome', 'already_settled');
        end if;

        -- The owner lives, and knows better than the reaper.
        late := true;
        is_latest := exists (
            select from public.messages m
            where m.user_id = gateway.user_id() and m.id = ended.user_message_id and m.turn_id = ended.id);
        if ended.status = 'failed' and receipt ->> 'status' <> 'failed' and is_latest then
            if ended.retry_of is not null then
                perform gateway.supersede_answers(ended);
            end if;
            update public.messages m set status = 'complete', updated_at = moment
            where m.user_id = gateway.user_id() and m.id = ended.user_message_id;
        end if;
        update public.messages m
        set content = answer, domain = (receipt #>> '{domain,domain}')::public.coaching_domain,
            token_count = coalesce((bill ->> 'output')::integer, gateway.estimate_tokens(answer)), updated_at = moment,
            status = case when m.status = 'superseded' then m.status else (receipt ->> 'status')::public.message_status end
        where m.user_id = gateway.user_id() and m.id = ended.message_id and receipt ->> 'status' <> 'failed' and answer <> '';
        is_kept := found;
        perform gateway.settle_late(ended, nth, bill, (receipt #>> '{domain,domain}')::public.coaching_domain, settler);
    end loop;

    -- The answer, the conversation that it is of, and the ledger.
    with said as (
        insert into public.messages (
            user_id, id, conversation_id, turn_id, seq, role, content, status, domain, token_count, created_at, updated_at)
        select
            turn.user_id, turn.message_id, turn.conversation_id, turn.id, turn.seq + 1, 'assistant', answer,
            case when is_latest then turn.status::text else 'superseded' end::public.message_status,
            turn.domain, coalesce((bill ->> 'output')::integer, gateway.estimate_tokens(answer)), moment, moment
        -- A turn that was stopped before its first word has no answer.
        where turn.status <> 'failed' and answer <> '' and not is_kept
    ), conversation as (
        update public.conversations c
        set domain = coalesce(turn.domain, c.domain), updated_at = moment
        where c.user_id = gateway.user_id() and c.id = turn.conversation_id and turn.status <> 'failed'
    )
    insert into public.usage_logs (
        user_id, turn_id, attempt, conversation_id, message_id, persona_id, domain, tier, provider, model, input_tokens,
        cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out, cost_usd, estimated,
        settled_by)
    select
        turn.user_id, turn.id, nth, turn.conversation_id, turn.message_id, turn.persona_id, turn.domain, turn.tier,
        bill ->> 'provider', bill ->> 'model', (bill ->> 'input')::integer, (bill ->> 'cached_input')::integer,
        (bill ->> 'cache_write')::integer, (bill ->> 'output')::integer, (bill ->> 'reasoning')::integer,
        gateway.tokens_in(bill), gateway.tokens_out(bill), cost, (bill ->> 'estimated')::boolean, settler
    where bill is not null and not late;

    -- The row of the day is nearly always there, and what was set aside for the attempt is in it.
    update public.budgets b
    set spent_usd = b.spent_usd + coalesce(cost, 0), reserved_usd = b.reserved_usd - turn.reserved_usd,
        unpriced_turns = b.unpriced_turns + (bill is not null and cost is null)::integer
    where b.user_id = gateway.user_id() and b.day = (turn.started_at at time zone 'UTC')::date
        and (bill is not null or turn.reserved_usd <> 0) and not late;
    if not found and bill is not null and not late then
        insert into public.budgets as b (user_id, day, spent_usd, unpriced_turns)
        values (turn.user_id, (turn.started_at at time zone 'UTC')::date, coalesce(cost, 0), (cost is null)::integer)
        on conflict (user_id, day) do update
            set spent_usd = b.spent_usd + excluded.spent_usd, unpriced_turns = b.unpriced_turns + excluded.unpriced_turns;
    end if;

    if is_latest and (turn.status = 'failed' or answer = '') then
        -- Trying again brought nothing: what it was to replace is the answer again.
        update public.messages m set status = former.status::text::public.message_status, updated_at = moment
        from public.turns former
        where former.user_id = turn.user_id and former.id = turn.retry_of and former.status <> 'failed'
            and m.user_id = turn.user_id and m.id = former.message_id;
        if not found and turn.status = 'failed' then
            update public.messages m set status = 'failed', updated_at = moment
            where m.user_id = turn.user_id and m.id = turn.user_message_id;
        end if;
    end if;
    if turn.risk_tier > 0 then
        perform gateway.raise_safety(turn.user_id, turn.persona_id, turn.risk_tier, false, moment);
    end if;
    return jsonb_build_object('outcome', 'settled');
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.tokens_in(jsonb), gateway.tokens_out(jsonb),
    gateway.settle_late(public.turns, integer, jsonb, public.coaching_domain, public.settler), gateway.finish_turn(jsonb)
    to coach_gateway;
