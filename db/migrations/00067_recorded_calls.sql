-- Calls after an attempt's first are recorded before their requests leave, too: so a crash loses none of them.

-- Records a call (revision 0) of an attempt or of a summary, and returns its number; NULL when its turn has been removed. gateway.book_calls ends it. Of
-- an attempt that has ended it is ended here, because it comes from the disk of an instance that was killed, or too late. Idempotent when the number is
-- given.
-- number: NULL: the first of a summary, which has the numbers of the next thousand: other summaries of its turn may be made at the same time.
-- purpose: NULL: that of the turn.
create function gateway.record_call(uid uuid, turn_id uuid, nth integer, number integer, purpose public.usage_purpose, day date) returns integer
    language plpgsql set search_path = '' set lock_timeout = '100ms' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
    turn public.turns;
    chosen integer := number;
    is_running boolean := $5 is not distinct from 'summary';
begin
    perform gateway.check_caller(uid);
    select * into turn from public.turns t where t.user_id = gateway.user_id() and t.id = $2;
    if not found then
        return null;
    end if;
    if chosen is null then
        select (coalesce(max(l.call), 0) / 1000 + 1) * 1000 into chosen from public.usage_logs l
        where l.account_id = account and l.day = $6 and l.turn_id = $2 and l.attempt = nth;
    end if;
    if not is_running then
        -- The attempt does not end before this is committed.
        perform from gateway.running_turns r
        where r.user_id = gateway.user_id() and r.conversation_id = turn.conversation_id and r.turn_id = turn.id and r.attempt = nth
        for share;
        is_running := found;
    end if;
    if not is_running then
        -- A receipt that comes at the same time waits, and then sees the call.
        perform from public.turns t where t.user_id = gateway.user_id() and t.id = $2 for update;
    end if;
    insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
    select account, $6, turn.id, nth, chosen, n, coalesce($5, turn.purpose), turn.conversation_id, turn.message_id, turn.persona_id, turn.tier
    from generate_series(0, case when is_running then 0 else 1 end) as n
    on conflict do nothing;
    if not found and number is null then
        raise exception 'the number was taken meanwhile' using errcode = 'serialization_failure';
    end if;
    return chosen;
end $$;

-- For gateway.end_lost_summaries.
create index idx_usage_logs_summaries on public.usage_logs (booked_at) where purpose = 'summary';

-- Ends the calls recorded within the last two days of summaries that no process makes any more, because it was killed. That of a request which may have
-- left is billed by the estimate that was saved before; the others have no receipt, as calls that gateway.book_calls ends and of which nothing is known.
-- What was reserved is given back. A receipt that comes later still counts. Returns how many there were. With its owner's rights, because they are of
-- all users.
create function gateway.end_lost_summaries() returns integer
    language plpgsql security definer set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off set jit = off as $$
declare
    since constant timestamptz := clock_timestamp() - interval '2 days';
    first_day constant date := (since at time zone 'UTC')::date;
    lost gateway.running_summaries;
    booked public.usage_logs;
    billed integer := 0;
    ended integer;
begin
    for lost in
        -- Some at a time: their users' budgets are locked until all are done.
        delete from gateway.running_summaries d
        where d.ctid = any (array(
            select s.ctid
            from gateway.running_summaries s
            where not exists (
                select from gateway.jobs j
                where j.user_id = s.user_id and (j.payload ->> 'turn_id')::uuid = s.turn_id
                    and j.kind = 'summarise_conversation' and j.state = 'ready' and j.lease_until > clock_timestamp())
            limit 100
            for update skip locked))
        returning d.*
    loop
        booked := null;
        if lost.estimate is not null then
            insert into public.usage_logs (
                account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id, domain, tier,
                provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out,
                cost_usd, unpriced, estimated)
            select
                l.account_id, l.day, l.turn_id, l.attempt, l.call, 1, l.purpose, 'recovery', l.conversation_id, l.message_id, l.persona_id,
                t.domain, l.tier, e.bill ->> 'provider', e.bill ->> 'model', (e.bill ->> 'input')::bigint,
                (e.bill ->> 'cached_input')::bigint, (e.bill ->> 'cache_write')::bigint, (e.bill ->> 'output')::bigint,
                (e.bill ->> 'reasoning')::bigint, gateway.tokens_in(e.bill), gateway.tokens_out(e.bill), e.cost, (e.cost is null)::integer, true
            from public.users u
            join public.usage_logs l on l.account_id = u.account_id
            join public.turns t on t.user_id = u.id and t.id = l.turn_id
            cross join (
                select lost.estimate as bill, gateway.to_usd((lost.estimate ->> 'cost_nanodollars')::bigint) as cost) as e
            where u.id = lost.user_id and l.day = lost.day and l.turn_id = lost.turn_id and l.attempt = lost.attempt and l.call = lost.call
                and l.revision = 0
            on conflict do nothing
            returning * into booked;
            billed := billed + found::integer;
        end if;
        update public.budgets b
        set reserved_usd = b.reserved_usd - lost.reserved_usd, reserved_tokens = b.reserved_tokens - lost.reserved_tokens,
            spent_usd = b.spent_usd + coalesce(booked.cost_usd, 0), tokens = b.tokens + coalesce(booked.tokens_in + booked.tokens_out, 0),
            unpriced_turns = b.unpriced_turns + coalesce(booked.unpriced, 0)
        where b.user_id = lost.user_id and b.day = lost.day;
    end loop;

    with running as materialized (
        select u.account_id, (j.payload ->> 'turn_id')::uuid as turn_id
        from gateway.jobs j join public.users u on u.id = j.user_id
        where j.kind = 'summarise_conversation' and j.state = 'ready' and j.lease_until > clock_timestamp()
    )
    insert into public.usage_logs (
        account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
    select l.account_id, l.day, l.turn_id, l.attempt, l.call, 1, l.purpose, l.conversation_id, l.message_id, l.persona_id, l.tier
    from public.usage_logs l
    where l.purpose = 'summary' and l.revision = 0 and l.booked_at > since and l.day >= first_day
        and not exists (
            select from public.usage_logs e
            where e.account_id = l.account_id and e.day = l.day and e.turn_id = l.turn_id and e.attempt = l.attempt and e.call = l.call
                -- Booked after its record, so that both are few rows of one index.
                and e.purpose = 'summary' and e.revision > 0 and e.booked_at > since and e.day >= first_day)
        and not exists (select from running r where r.account_id = l.account_id and r.turn_id = l.turn_id)
        and not exists (
            select from gateway.running_summaries s join public.users u on u.id = s.user_id
            where u.account_id = l.account_id and s.turn_id = l.turn_id)
    on conflict do nothing;
    get diagnostics ended = row_count;
    return billed + ended;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.record_call(uuid, uuid, integer, integer, public.usage_purpose, date), gateway.end_lost_summaries()
    to coach_gateway;
