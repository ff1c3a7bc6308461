-- Finishing a turn: the second of its two round trips.

-- Tokens of a bill, over all classes.
create function gateway.tokens_in(bill jsonb) returns bigint
    language sql immutable
    return (bill ->> 'input')::bigint + coalesce((bill ->> 'cached_input')::bigint, 0) + coalesce((bill ->> 'cache_write')::bigint, 0);

create function gateway.tokens_out(bill jsonb) returns bigint
    language sql immutable
    return (bill ->> 'output')::bigint + coalesce((bill ->> 'reasoning')::bigint, 0);

-- Books the bill of an ended attempt as the difference to its ledger rows. An owner's bill replaces an estimate of recovery; an estimate replaces
-- nothing. The day is that on which the attempt began. Planned at each call, so that only the partitions of the days between are read.
create function gateway.finalize_late(
    uid uuid, turn public.turns, nth integer, receipt jsonb, bill jsonb, finalizer public.finalizer)
    returns void
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
    -- An owner without a bill knows that no provider accepted the call, so it took no tokens and cost nothing.
    is_free constant boolean := bill is null;
    former record;
    booked public.usage_logs;
begin
    select max(l.day) as day, coalesce(max(l.revision), 0) as revision, (array_agg(l.finalized_by order by l.revision desc))[1] as finalized_by,
        sum(l.input_tokens) as input_tokens, sum(l.cached_input_tokens) as cached_input_tokens,
        sum(l.cache_write_tokens) as cache_write_tokens, sum(l.output_tokens) as output_tokens,
        sum(l.reasoning_tokens) as reasoning_tokens, sum(l.tokens_in) as tokens_in, sum(l.tokens_out) as tokens_out,
        sum(l.cost_usd) as cost_usd, coalesce(sum(l.unpriced), 0) as unpriced
    into former
    from public.usage_logs l
    where l.account_id = account and l.day between (turn.created_at at time zone 'UTC')::date and turn.day
        and l.turn_id = turn.id and l.attempt = nth and l.call = 1;
    if former.finalized_by = 'owner' or former.finalized_by = finalizer or (former.finalized_by is null and is_free) then
        return;
    end if;

    insert into public.usage_logs as l (
        account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id, domain, tier,
        provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out,
        cost_usd, unpriced, estimated, status, error_code, domain_confidence, domain_source, time_to_first_token_ms, duration_ms)
    values (
        account, coalesce(former.day, turn.day), turn.id, nth, 1, former.revision + 1, turn.purpose, finalizer, turn.conversation_id,
        turn.message_id, turn.persona_id, (receipt #>> '{domain,domain}')::public.coaching_domain, turn.tier, bill ->> 'provider', bill ->> 'model',
        case when is_free then 0 else (bill ->> 'input')::bigint end - coalesce(former.input_tokens, 0),
        case when is_free then 0 else (bill ->> 'cached_input')::bigint end - coalesce(former.cached_input_tokens, 0),
        case when is_free then 0 else (bill ->> 'cache_write')::bigint end - coalesce(former.cache_write_tokens, 0),
        case when is_free then 0 else (bill ->> 'output')::bigint end - coalesce(former.output_tokens, 0),
        case when is_free then 0 else (bill ->> 'reasoning')::bigint end - coalesce(former.reasoning_tokens, 0),
        case when is_free then 0 else gateway.tokens_in(bill) end - coalesce(former.tokens_in, 0),
        case when is_free then 0 else gateway.tokens_out(bill) end - coalesce(former.tokens_out, 0),
        case
            when is_free then -coalesce(former.cost_usd, 0)
            when cost is not null or former.cost_usd is not null then coalesce(cost, 0) - coalesce(former.cost_usd, 0) end,
        (bill is not null and cost is null)::integer - former.unpriced,
        coalesce((bill ->> 'estimated')::boolean, false), (receipt ->> 'status')::public.turn_status, receipt ->> 'error_code',
        (receipt #>> '{domain,confidence}')::real, (receipt #>> '{domain,source}')::public.domain_source,
        (receipt ->> 'time_to_first_token_ms')::integer, (receipt ->> 'duration_ms')::integer)
    returning * into booked;

    insert into public.budgets as b (user_id, day, spent_usd, tokens, unpriced_turns)
    values (uid, booked.day, coalesce(booked.cost_usd, 0), coalesce(booked.tokens_in + booked.tokens_out, 0), booked.unpriced)
    on conflict (user_id, day) do update
        set spent_usd = b.spent_usd + excluded.spent_usd, tokens = b.tokens + excluded.tokens,
            unpriced_turns = b.unpriced_turns + excluded.unpriced_turns;
end $$;

-- The ended turn, as far as the functions below need it.
create type gateway.ended_turn as (
    id uuid, conversation_id uuid, user_message_id uuid, message_id uuid, seq integer, status public.turn_status,
    domain public.coaching_domain, persona_id uuid, tier text, purpose public.usage_purpose, risk_tier smallint, retry_of uuid,
    -- No later turn answers the message.
    is_latest boolean,
    change bigint,
    -- From gateway.running_turns; NULL, but for the day, when the attempt had ended before.
    account_id uuid, day date, reserved_usd numeric, reserved_tokens bigint,
    -- When the attempt ended: of a late receipt before now.
    ended_at timestamptz
);

-- Leaves the messages of the user as they were before an attempt that failed or was stopped before its first token.
create function gateway.end_without_answer(uid uuid, turn gateway.ended_turn, moment timestamptz) returns void
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
end $$;

-- Writes the answer of an ended attempt, its effect on conversation and safety state, and, for a running one, its receipt in the ledger.
create function gateway.write_answer(
    uid uuid, turn gateway.ended_turn, nth integer, receipt jsonb, bill jsonb, finalizer public.finalizer, moment timestamptz) returns void
    language plpgsql as $$
declare
    answer constant text := coalesce(receipt ->> 'content', '');
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
begin
    with message as (
        insert into public.messages as m (
            user_id, id, conversation_id, turn_id, seq, role, content, status, domain, token_count, created_at, updated_at, change)
        select
            uid, turn.message_id, turn.conversation_id, turn.id, turn.seq + 1, 'assistant', answer,
            case when turn.is_latest then turn.status::text else 'superseded' end::public.message_status,
            turn.domain, coalesce((bill ->> 'output')::bigint, gateway.estimate_tokens(answer)), turn.ended_at, moment, turn.change
        -- A turn that was stopped before its first token has no answer.
        where turn.status <> 'failed' and answer <> ''
        on conflict (user_id, id) do update
            set content = excluded.content, domain = excluded.domain, token_count = excluded.token_count,
                updated_at = excluded.updated_at, change = excluded.change,
                -- Visible, if a retry failed and restored it.
                status = case when m.status = 'superseded' then m.status else turn.status::text::public.message_status end
    ), booking as (
        insert into public.usage_logs (
            account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id, domain, tier,
            provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out,
            cost_usd, unpriced, estimated, status, error_code, domain_confidence, domain_source, time_to_first_token_ms, duration_ms)
        select
            turn.account_id, turn.day, turn.id, nth, 1, 1, turn.purpose, case when bill is not null then finalizer end,
            turn.conversation_id, turn.message_id, turn.persona_id, turn.domain,
            turn.tier, bill ->> 'provider', bill ->> 'model', (bill ->> 'input')::bigint, (bill ->> 'cached_input')::bigint,
            (bill ->> 'cache_write')::bigint, (bill ->> 'output')::bigint, (bill ->> 'reasoning')::bigint,
            gateway.tokens_in(bill), gateway.tokens_out(bill), cost, (bill is not null and cost is null)::integer,
            coalesce((bill ->> 'estimated')::boolean, false), turn.status, receipt ->> 'error_code', (receipt #>> '{domain,confidence}')::real,
            (receipt #>> '{domain,source}')::public.domain_source, (receipt ->> 'time_to_first_token_ms')::integer,
            (receipt ->> 'duration_ms')::integer
        where turn.account_id is not null
    )
    update public.conversations c set domain = coalesce(turn.domain, c.domain), updated_at = moment, change = turn.change
    where c.user_id = gateway.user_id() and c.id = turn.conversation_id and turn.status <> 'failed';

    if turn.is_latest and (turn.status = 'failed' or answer = '') then
        perform gateway.end_without_answer(uid, turn, moment);
    end if;
    if turn.risk_tier > 0 then
        perform gateway.raise_safety(uid, turn.persona_id, turn.risk_tier, false, turn.ended_at);
    end if;
    if receipt ? 'crisis' then
        perform gateway.record_crisis(uid, turn.id, nth, receipt -> 'crisis');
    end if;
    -- An owner knows whether there are calls beside the first.
    if receipt ? 'calls' or finalizer = 'recovery' then
        perform gateway.book_calls(uid, turn.id, nth, turn.day, coalesce(receipt -> 'calls', '[]'), finalizer);
    end if;
end $$;

-- A receipt for an attempt that is not running: of an owner that had expired, or one that was delivered before.
create function gateway.finish_late(
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
    if ended.status = 'failed' and turn.status <> 'failed' and turn.is_latest then
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

-- Ends an attempt of a turn of the user of `request.jwt.claims`: answer, ledger, budget, state, in one transaction. Idempotent.
--
-- receipt: {conversation_id, turn_id, attempt, status: complete | stopped | interrupted | failed, finish_reason?, error_code?, content,
--           bill: null | {provider, model, input, cached_input, cache_write, output, reasoning, cost_nanodollars, estimated},
--           domain: {domain, confidence, source}, country?, locale?,
--           risk?: {tier, categories, subject, patterns}; absent: it ended before that was decided,
--           crisis?: of gateway.record_crisis, calls?: of gateway.book_calls,
--           summary_tokens?: the history no longer fits into so many tokens, and the conversation is to be summarised,
--           time_to_first_token_ms?, duration_ms, finalized_by?: owner (default) | recovery}
-- result: {outcome: finalized}          written now
--       | {outcome: already_finalized}  written before
--       | {outcome: superseded}         there is a later attempt, or the turn was deleted; only the ledger was written
--       | {outcome: unknown_turn}       not a turn of this user, or removed with them
create function gateway.finish_turn(uid uuid, receipt jsonb) returns jsonb
    language plpgsql
    set search_path = '' set lock_timeout = '100ms'
    -- Plans are cached, and one made for an empty table would use sequential scans later, too.
    set enable_seqscan = off
    as $$
declare
    ended_id constant uuid := receipt ->> 'turn_id';
    nth constant integer := receipt ->> 'attempt';
    finalizer constant public.finalizer := coalesce(receipt ->> 'finalized_by', 'owner');
    bill constant jsonb := nullif(receipt -> 'bill', 'null');
    cost constant numeric := gateway.to_usd((bill ->> 'cost_nanodollars')::bigint);
    risk constant gateway.risk := jsonb_populate_record(null::gateway.risk, receipt -> 'risk');
    moment constant timestamptz := clock_timestamp();
    used_tokens constant bigint := coalesce(gateway.tokens_in(bill) + gateway.tokens_out(bill), 0);
    -- Country and locale are replaced together, or not at all.
    is_placed constant boolean := receipt ->> 'country' is not null or receipt ->> 'locale' is not null;
    turn gateway.ended_turn;
    account uuid;
    begun_on date;
    reserved numeric;
    tokens_reserved bigint;
    -- A checkpoint has what the attempt decided.
    had_decided boolean;
    number bigint;
begin
    if uid is distinct from gateway.user_id() then
        perform gateway.check_caller(uid);
    end if;
    -- Removes the running attempt without reading it first; only when there is none, finish_late finds out why.
    delete from gateway.running_turns r
    where r.user_id = gateway.user_id() and r.conversation_id = (receipt ->> 'conversation_id')::uuid
        and r.turn_id = ended_id and r.attempt = nth
    returning r.account_id, r.day, r.reserved_usd, r.reserved_tokens, r.facts is not null
    into account, begun_on, reserved, tokens_reserved, had_decided;
    if not found then
        return jsonb_build_object('outcome', gateway.finish_late(uid, ended_id, nth, receipt, bill, finalizer, moment));
    end if;
    number := gateway.next_change(uid);
    update public.turns t
    set status = (receipt ->> 'status')::public.turn_status, finish_reason = (receipt ->> 'finish_reason')::public.finish_reason,
        error_code = receipt ->> 'error_code',
        domain = (receipt #>> '{domain,domain}')::public.coaching_domain,
        domain_confidence = (receipt #>> '{domain,confidence}')::real,
        domain_source = (receipt #>> '{domain,source}')::public.domain_source,
        country = case when is_placed then receipt ->> 'country' else t.country end,
        locale = case when is_placed then receipt ->> 'locale' else t.locale end,
        risk_tier = coalesce(risk.tier, t.risk_tier), risk_categories = coalesce(risk.categories, t.risk_categories),
        risk_subject = coalesce(risk.subject, t.risk_subject), risk_patterns = coalesce(risk.patterns, t.risk_patterns),
        risk_is_decided = t.risk_is_decided or had_decided or (finalizer = 'owner' and risk.tier is not null),
        time_to_first_token_ms = (receipt ->> 'time_to_first_token_ms')::integer,
        duration_ms = (receipt ->> 'duration_ms')::integer,
        finalized_by = finalizer, finished_at = moment, updated_at = moment, change = number
    where t.user_id = gateway.user_id() and t.id = ended_id
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.status, t.domain, t.persona_id, t.tier, t.purpose,
        t.risk_tier, t.retry_of, true, number, account, begun_on, reserved, tokens_reserved, moment
    into turn;
    if not found then
        return jsonb_build_object('outcome', 'unknown_turn');
    end if;

    perform gateway.write_answer(uid, turn, nth, receipt, bill, finalizer, moment);

    -- The day's row nearly always exists, and includes the attempt's reserve.
    if bill is not null or turn.reserved_usd <> 0 or turn.reserved_tokens <> 0 then
        update public.budgets b
        set spent_usd = b.spent_usd + coalesce(cost, 0), reserved_usd = b.reserved_usd - turn.reserved_usd,
            tokens = b.tokens + used_tokens, reserved_tokens = b.reserved_tokens - turn.reserved_tokens,
            unpriced_turns = b.unpriced_turns + (bill is not null and cost is null)::integer
        where b.user_id = gateway.user_id() and b.day = turn.day;
        if not found then
            insert into public.budgets as b (user_id, day, spent_usd, tokens, unpriced_turns)
            values (uid, turn.day, coalesce(cost, 0), used_tokens, (bill is not null and cost is null)::integer)
            on conflict (user_id, day) do update
                set spent_usd = b.spent_usd + excluded.spent_usd, tokens = b.tokens + excluded.tokens,
                    unpriced_turns = b.unpriced_turns + excluded.unpriced_turns;
        end if;
    end if;
    if receipt ? 'summary_tokens' then
        perform gateway.request_summary(
            uid, turn.conversation_id, ended_id, nth, (receipt ->> 'summary_tokens')::integer);
    end if;
    return jsonb_build_object('outcome', 'finalized');
end $$;

-- Ends a running attempt as failed when finish_turn rejects every receipt of it: the row of a running turn refuses the conversation's next message.
-- Writes only what that needs, nothing of the ledger, which may be what rejects the receipts. As by recovery, so that the owner's receipt replaces
-- it, if a later version can deliver it. No effect on an attempt that does not run, so it may be repeated.
create function gateway.abandon_turn(uid uuid, conversation_id uuid, turn_id uuid, nth integer) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
    moment constant timestamptz := clock_timestamp();
    running gateway.running_turns;
    turn gateway.ended_turn;
begin
    perform gateway.check_caller(uid);
    delete from gateway.running_turns r
    where r.user_id = uid and r.conversation_id = $2 and r.turn_id = $3 and r.attempt = nth
    returning r.* into running;
    if not found then
        return;
    end if;
    turn.status := 'failed';
    turn.change := gateway.next_change(uid);
    update public.turns t
    set status = turn.status, error_code = 'SYS_5000', finalized_by = 'recovery', finished_at = moment, updated_at = moment,
        change = turn.change
    where t.user_id = uid and t.id = $3
    returning t.user_message_id, t.retry_of into turn.user_message_id, turn.retry_of;
    -- Each of its effects is written where the database accepts it.
    begin
        update public.budgets b
        set reserved_usd = b.reserved_usd - running.reserved_usd, reserved_tokens = b.reserved_tokens - running.reserved_tokens
        where b.user_id = uid and b.day = running.day;
    exception
        when lock_not_available or deadlock_detected then raise;
        when others then null;
    end;
    begin
        perform gateway.end_without_answer(uid, turn, moment);
    exception
        when lock_not_available or deadlock_detected then raise;
        when others then null;
    end;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.tokens_in(jsonb), gateway.tokens_out(jsonb), gateway.end_without_answer(uuid, gateway.ended_turn, timestamptz),
    gateway.abandon_turn(uuid, uuid, uuid, integer),
    gateway.finalize_late(uuid, public.turns, integer, jsonb, jsonb, public.finalizer),
    gateway.write_answer(uuid, gateway.ended_turn, integer, jsonb, jsonb, public.finalizer, timestamptz),
    gateway.finish_late(uuid, uuid, integer, jsonb, jsonb, public.finalizer, timestamptz), gateway.finish_turn(uuid, jsonb)
    to coach_gateway;
