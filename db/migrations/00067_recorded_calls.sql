-- Calls after an attempt's first are recorded before their requests leave, too: so a crash loses none of them.

-- Records a call (revision 0) of a running attempt or of a summary, and returns its number. gateway.book_calls ends it. Idempotent when the number is
-- given.
-- number: NULL: the next one. purpose: NULL: that of the turn. day: NULL: that of the turn's present attempt.
create function gateway.record_call(uid uuid, turn_id uuid, nth integer, number integer, purpose public.usage_purpose, day date) returns integer
    language plpgsql set search_path = '' set lock_timeout = '100ms' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
    turn public.turns;
    chosen integer := number;
begin
    perform gateway.check_caller(uid);
    select * into strict turn from public.turns t where t.user_id = gateway.user_id() and t.id = $2;
    if chosen is null then
        select greatest(1, max(l.call)) + 1 into chosen from public.usage_logs l
        where l.account_id = account and l.day = coalesce($6, turn.day) and l.turn_id = $2 and l.attempt = nth;
    end if;
    -- A record that comes after the receipt would have no end: its request does not leave any more.
    if $5 is distinct from 'summary' then
        perform from gateway.running_turns r
        where r.user_id = gateway.user_id() and r.conversation_id = turn.conversation_id and r.turn_id = turn.id and r.attempt = nth
        for share;
        if not found then
            return chosen;
        end if;
    end if;
    insert into public.usage_logs (account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
    values (
        account, coalesce($6, turn.day), turn.id, nth, chosen, 0, coalesce($5, turn.purpose), turn.conversation_id, turn.message_id,
        turn.persona_id, turn.tier)
    on conflict do nothing;
    if not found and number is null then
        raise exception 'the number was taken meanwhile' using errcode = 'serialization_failure';
    end if;
    return chosen;
end $$;

-- For gateway.end_lost_summaries.
create index idx_usage_logs_summaries on public.usage_logs (booked_at) where purpose = 'summary';

-- Ends the calls recorded within the last two days of summaries that no process makes any more, because it was killed: without a receipt, as
-- gateway.book_calls ends other calls of which nothing is known. A receipt that comes later still counts. Returns how many there were. With its owner's
-- rights, because they are of all users.
create function gateway.end_lost_summaries() returns integer
    language plpgsql security definer set search_path = '' set plan_cache_mode = force_custom_plan set enable_seqscan = off set jit = off as $$
declare
    since constant timestamptz := clock_timestamp() - interval '2 days';
    first_day constant date := (since at time zone 'UTC')::date;
    ended integer;
begin
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
    on conflict do nothing;
    get diagnostics ended = row_count;
    return ended;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.record_call(uuid, uuid, integer, integer, public.usage_purpose, date), gateway.end_lost_summaries()
    to coach_gateway;
