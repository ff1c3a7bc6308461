-- Tokens and cost by user, or by day and user: the rows that operator.costs has for these groups, a page of them. There may be one for every user, so
-- only those of the page are summed up: `at_most` rows in the order of day and user, after the row of `after`: {day, user}, the day in microseconds since
-- 1970, each NULL as in that row; NULL: from the first row.
create function operator.user_costs(
    starts timestamptz, ends timestamptz, group_by text[], grain text, tz text, at_most bigint, after text[])
    returns table (
        bucket timestamptz, model text, provider text, domain public.coaching_domain, persona_id uuid, user_id uuid, tier text,
        turns bigint, input_tokens bigint, cached_input_tokens bigint, output_tokens bigint, cost bigint, unpriced_turns bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set jit = off as $$
declare
    missing bigint := at_most;
    former constant timestamptz := timestamptz 'epoch' + after[1]::bigint * interval '1 microsecond';
    -- In the bucket of that row.
    last_user uuid;
    part record;
    returned bigint;
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'user'], grain, tz);
    for part in
        select b.bucket, min(b.day) as first, max(b.day) as last
        from (
            select t::date as day, case when 'day' = any (group_by) then date_trunc(grain, t at time zone 'UTC', 'UTC') end as bucket
            from generate_series(
                date_trunc('day', starts at time zone 'UTC'), ends at time zone 'UTC' - interval '1 microsecond', interval '1 day') as t) as b
        -- Removed users' row is the last one of its bucket.
        where after is null or after[2] is null and b.bucket > former or after[2] is not null and (former is null or b.bucket >= former)
        group by b.bucket
        order by b.bucket
    loop
        last_user := case when after is not null and part.bucket is not distinct from former then after[2]::uuid end;
        return query
            with page as materialized (
                select u.id, u.account_id from public.users u
                where (last_user is null or u.id > last_user) and exists (
                    select from gateway.account_days d
                    where d.account_id = u.account_id and d.day between part.first and part.last and d.calls > 0)
                order by u.id
                limit missing)
            select part.bucket, null::text, null::text, null::public.coaching_domain, null::uuid, p.id, null::text, t.*
            from page p
            -- One account after the other, where the planner would read those of all users.
            cross join lateral (
                select sum(d.turns)::bigint,
                    case when sum(d.input_known) > 0 then sum(d.input_tokens) end::bigint,
                    case when sum(d.cached_input_known) > 0 then sum(d.cached_input_tokens) end::bigint,
                    case when sum(d.output_known) > 0 then sum(d.output_tokens) end::bigint,
                    case when sum(d.priced_calls) > 0 then sum(d.cost_nanodollars) end::bigint, sum(d.unpriced_turns)::bigint
                from gateway.account_days d where d.account_id = p.account_id and d.day between part.first and part.last) as t
            order by p.id;
        get diagnostics returned = row_count;
        missing := missing - returned;
        exit when missing <= 0;
        -- Removed users have no id, so they share a row, after the others.
        return query
            select part.bucket, null::text, null::text, null::public.coaching_domain, null::uuid, null::uuid, null::text, sum(d.turns)::bigint,
                case when sum(d.input_known) > 0 then sum(d.input_tokens) end::bigint,
                case when sum(d.cached_input_known) > 0 then sum(d.cached_input_tokens) end::bigint,
                case when sum(d.output_known) > 0 then sum(d.output_tokens) end::bigint,
                case when sum(d.priced_calls) > 0 then sum(d.cost_nanodollars) end::bigint, sum(d.unpriced_turns)::bigint
            from gateway.account_days d
            where d.day between part.first and part.last and not exists (select from public.users u where u.account_id = d.account_id)
            having sum(d.calls) > 0
            limit missing;
        get diagnostics returned = row_count;
        missing := missing - returned;
        exit when missing <= 0;
    end loop;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function operator.user_costs(timestamptz, timestamptz, text[], text, text, bigint, text[]) to coach_gateway;
