-- What a user has used, read from the days of this month alone. The query that compared the ledger's days with a subquery's was planned for all partitions:
-- after a year with 400 of them it took 0.2 s for each new plan, and 3,700 of the 6,400 locks that PostgreSQL has by default.

-- The user's messages of today (UTC) and the sums of this month's ledger rows, in which corrections are rows of their own. No row for a user without one. A
-- plan for each call, because only one for known days leaves out the other partitions.
create function gateway.account_usage(user_id uuid)
    returns table (
        day date, messages_today integer, turns bigint, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
        output_tokens bigint, reasoning_tokens bigint, cost_nanodollars bigint, unpriced_calls bigint)
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
    today constant date := now() at time zone 'UTC';
    first_day constant date := date_trunc('month', today::timestamp);
begin
    perform gateway.check_caller($1);
    if account is null then
        return;
    end if;
    return query
        select today, coalesce((select r.messages from public.rate_limits r where r.user_id = gateway.user_id() and r.day = today), 0),
            -- A summary may be made in the month after its turn.
            count(distinct l.turn_id) filter (where l.finalized_by is not null and l.purpose <> 'summary'),
            coalesce(sum(l.input_tokens), 0)::bigint, coalesce(sum(l.cached_input_tokens), 0)::bigint,
            coalesce(sum(l.cache_write_tokens), 0)::bigint, coalesce(sum(l.output_tokens), 0)::bigint,
            coalesce(sum(l.reasoning_tokens), 0)::bigint, (coalesce(sum(l.cost_usd), 0) * 1000000000)::bigint,
            coalesce(sum(l.unpriced), 0)::bigint
        from public.usage_logs l
        where l.account_id = account and l.day between first_day and today;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.account_usage(uuid) to coach_gateway;
